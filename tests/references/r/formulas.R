# Formulas: model matrices, predictions of new rows, missing cells, dependent columns. Run after data.R, in this folder.
source("common.R")
library(splines)
rows <- read_data("linear")
binary <- read_data("binary")
counts <- read_data("counts")
new <- data.frame(x1 = c(-1.5, 0, 0.7, 9), x2 = c(0.2, -1, 2, 0.5), group = factor(c("a", "b", "c", "a")), w = c(1, 2, 0.5, 3))

matrix_of <- function(formula) {
  found <- model.matrix(formula, rows)
  list(names = I(colnames(found)), matrix = unname(found[1:25, , drop = FALSE]), columns = ncol(found))
}
matrices <- lapply(list(
  interaction = ~ group * x1, crossed = ~ 0 + group, nested = ~ group / x1, pairs = ~ (x1 + x2 + group)^2,
  within = ~ group:x1, sums = ~ C(group, contr.sum) * x2, base = ~ relevel(group, "b"),
  power = ~ I(x1^2) + log(w) + sqrt(w) + exp(x2 / 2), poly = ~ poly(x1, 4), raw = ~ poly(x1, 3, raw = TRUE),
  bs = ~ bs(x1, 5), bs_knots = ~ bs(x1, knots = c(-0.5, 0.5), degree = 2), bs_full = ~ 0 + bs(x1, df = 6, intercept = TRUE),
  scale = ~ scale(x1) + scale(x2, scale = FALSE), nested_functions = ~ bs(log(w), 4):group
), matrix_of)

# What transforms learned is applied to new rows, also beyond the range of the first.
predicted <- function(formula) {
  model <- lm(formula, rows)
  c(describe(model), list(predicted = plain(suppressWarnings(predict(model, new)))))
}
predictions <- lapply(list(
  poly = y ~ poly(x1, 3) + group, bs = y ~ bs(x1, 5), scale = y ~ scale(x1) * group, spline_of_log = y ~ bs(log(w), 4)
), predicted)

holes <- rows
holes$x1[c(3, 10)] <- NA
holes$group[c(10, 20)] <- NA
holes$y[30] <- NA
missing <- lm(y ~ scale(x1) + bs(x2, 4) + group, holes)

rows$total <- rows$x1 + 2 * rows$x2
dependent <- lm(y ~ x1 + x2 + total + group, rows)

binomial_model <- glm(y ~ bs(x1, 4) * group, binomial, binary, control = tight)
rates <- glm(y ~ x1 + group + offset(log(exposure)), poisson, counts, control = tight)

with_na <- function(model) c(describe(model), list(na = I(is.na(coef(model))), nobs = nobs(model)))
write_results(list(
  matrices = matrices, predictions = predictions, new = new, missing = with_na(missing),
  dependent = with_na(dependent), binomial = with_na(binomial_model), rates = with_na(rates)
), "formulas")
