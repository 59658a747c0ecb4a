"""Races against the libraries people use today, at equal quality.

Rule of the package: a time counts only beside an objective. Every rival solves the same seeded problem, one function
judges all answers in float64, and a rival (or qed) whose answer is worse is marked so. Rivals run in processes of
their own and take turns, so that a busy minute of the machine hits all of them. Losses are printed as plainly as
wins.

Map
---
`problems/`   what is raced: data, task and size
`adapters/`   who races: one file per library
`_judge`      the objective, in float64, the same for all
`_worker`     one process that answers for one library: cold fit, memory, warm fits
`_race`       starts workers, lets them take turns, takes medians
`_record`     what was measured, kept in results.json and printed as RESULTS.md
`scale/`      data larger than memory
"""
