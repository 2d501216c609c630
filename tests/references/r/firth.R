# brglm2: mean bias reduction, which is Firth's penalty for canonical links. Run after data.R.
source("common.R")
suppressPackageStartupMessages(library(brglm2))
reduced <- as_written(quote(glm), method = "brglmFit", type = "AS_mean", epsilon = 1e-12, maxit = 1000)
describe_reduced <- function(data, m) {
  list(data = data, names = names(coef(m)), coefficients = plain(coef(m)), se = plain(coef(summary(m))[, 2]), deviance = deviance(m),
       loglik = as.numeric(logLik(m)), fitted = plain(fitted(m)))
}
separated <- read_data("separated"); binary <- read_data("binary"); counts <- read_data("counts"); grouped <- read_data("grouped")
results <- list(
  separated = describe_reduced("separated", reduced(y ~ x1 + x2, binomial, separated)),
  binary = describe_reduced("binary", reduced(y ~ x1 + x2 + group, binomial, binary)),
  weighted = describe_reduced("binary", reduced(y ~ x1 + x2 + group, binomial, binary, weights = w)),
  grouped = describe_reduced("grouped", reduced(cbind(successes, trials - successes) ~ x1 + x2 + group, binomial, grouped)),
  probit = describe_reduced("binary", reduced(y ~ x1 + x2 + group, binomial("probit"), binary)),
  poisson = describe_reduced("counts", reduced(y ~ x1 + x2 + group, poisson, counts))
)
write_results(results, "firth")
