"""Reports: a record of a fit, and the HTML page that shows it.

Rule of the package: a report holds words, numbers and drawings, no mathematics. Its page is one HTML file without
scripts that opens without a network, in light and dark, on a telephone and on paper; figures come before numbers.

Map
---
`_report`      the frozen record `Report`
`_parts`       what it is made of: section, figure, table, verdict
`_regression`  the report of a linear fit: predictions, coefficients, certificate
`_figures`     the two figures of a linear fit
`_study`       the report of a study: scores, curves, importance, groups, proof
`_contributions`, `_contribution_figures`  what each column contributes: of a study, and the page of an explanation
`_cluster`, `_embed`, `_detect`  the reports of tables without a target; `_unsupervised`, `_group_figures` what they share
`_study_details`  what stands at its end: candidates, columns, how it was made
`_format_numbers` numbers as people write them
`_study_figures`  its figures: whiskers, curves, grids, histograms
`_svg`         axes, dots, bands and lines as SVG
`_page`        the HTML and its style
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
