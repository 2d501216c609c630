# MASS::glm.nb, and glm with a known theta. Run after data.R.
source("common.R")
counts <- read_data("counts")
everything <- function(model) c(describe_glm(model), list(
  theta = model$theta, theta_se = model$SE.theta, two_loglik = model$twologlik,
  residuals = list(pearson = plain(residuals(model, "pearson")), deviance = plain(residuals(model, "deviance")))))
estimate <- as_written(quote(glm.nb), data = quote(counts), control = quote(tight))
results <- list(
  data = "counts",
  log = everything(estimate(y ~ x1 + x2 + group)),
  offset = everything(estimate(y ~ x1 + x2 + group + offset(log(exposure)))),
  weighted = everything(suppressWarnings(estimate(y ~ x1 + x2 + group, weights = w))),
  sqrt = everything(estimate(y ~ x1 + x2, link = "sqrt")),
  mean_only = everything(estimate(y ~ 1)),
  known = describe_glm(glm(y ~ x1 + x2 + group, negative.binomial(2), counts, control = tight)),
  anova = table_columns(suppressWarnings(anova(estimate(y ~ x1 + x2 + group))))
)
write_results(results, "negative_binomial")
