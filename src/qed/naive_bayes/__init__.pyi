from qed.naive_bayes._bernoulli import BernoulliNB as BernoulliNB
from qed.naive_bayes._categorical import CategoricalNB as CategoricalNB
from qed.naive_bayes._gaussian import GaussianNB as GaussianNB
from qed.naive_bayes._mixed import MixedNB as MixedNB
from qed.naive_bayes._multinomial import ComplementNB as ComplementNB
from qed.naive_bayes._multinomial import MultinomialNB as MultinomialNB
from qed.naive_bayes._poisson import PoissonNB as PoissonNB
