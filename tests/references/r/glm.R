# glm: each family and link, prior weights, offsets, intervals, residuals, influence, anova. Run after data.R.
source("common.R")
new <- data.frame(x1 = c(-1.5, 0, 0.7), x2 = c(0.2, -1, 2), group = factor(c("a", "b", "c")))

predictions <- function(model) {
  link <- predict(model, new, type = "link", se.fit = TRUE)
  response <- predict(model, new, type = "response", se.fit = TRUE)
  list(link = plain(link$fit), link_se = plain(link$se.fit), response = plain(response$fit), response_se = plain(response$se.fit))
}

residual_columns <- function(model) {
  kinds <- c("response", "pearson", "deviance", "working")
  found <- sapply(kinds, function(kind) plain(residuals(model, kind)), simplify = FALSE)
  c(found, list(standardised_deviance = plain(rstandard(model)),
                standardised_pearson = plain(rstandard(model, type = "pearson"))))
}

# The profile likelihood interval is interpolated by MASS: about 4 digits.
everything <- function(model, test) {
  c(describe_glm(model), list(
    residuals = residual_columns(model), influence = influence_columns(model),
    profile = interval_columns(unname(suppressMessages(confint(model)))),
    anova = table_columns(anova(model, test = test)), drop1 = table_columns(drop1(model, test = test)),
    type_2 = table_columns(Anova(model, type = 2, test.statistic = if (test == "F") "F" else "LR")),
    vif = table_columns(vif(model)), new = new, predict = predictions(model),
    HC = sapply(c("HC0", "HC1", "HC2", "HC3"), function(type) unname(vcovHC(model, type = type)), simplify = FALSE)
  ))
}

binary <- read_data("binary"); grouped <- read_data("grouped"); counts <- read_data("counts"); positive <- read_data("positive")
fit <- as_written(quote(glm), control = quote(tight))
trial <- cbind(successes, trials - successes) ~ x1 + x2 + group
usual <- y ~ x1 + x2 + group

logistic <- fit(usual, binomial, binary)
poisson_offset <- fit(usual, poisson, counts, offset = log(exposure))
results <- list(
  binomial = list(data = "binary",
    logit = c(everything(logistic, "Chisq"), list(
      CL = list(HC0 = unname(vcovCL(logistic, binary$cluster, type = "HC0", cadjust = FALSE)),
                HC0_adjusted = unname(vcovCL(logistic, binary$cluster, type = "HC0", cadjust = TRUE))))),
    weighted = everything(fit(usual, binomial, binary, weights = w), "Chisq"),
    probit = describe_glm(fit(usual, binomial("probit"), binary)),
    cauchit = describe_glm(fit(usual, binomial("cauchit"), binary)),
    cloglog = describe_glm(fit(usual, binomial("cloglog"), binary)),
    log = describe_glm(fit(y ~ x1, binomial("log"), binary, start = c(-1, 0))),
    mean_only = describe_glm(fit(y ~ 1, binomial, binary))),
  grouped = list(data = "grouped",
    logit = describe_glm(fit(trial, binomial, grouped)),
    quasi = everything(fit(trial, quasibinomial, grouped), "F"),
    cloglog = describe_glm(fit(trial, binomial("cloglog"), grouped))),
  poisson = list(data = "counts",
    log = everything(fit(usual, poisson, counts), "Chisq"),
    quasi = everything(fit(usual, quasipoisson, counts), "F"),
    offset = c(describe_glm(poisson_offset), list(
      newey_west_4 = unname(NeweyWest(poisson_offset, lag = 4, prewhite = FALSE, adjust = FALSE)))),
    weighted = suppressWarnings(describe_glm(fit(usual, poisson, counts, weights = w))),
    sqrt = describe_glm(fit(usual, poisson("sqrt"), counts)),
    power_third = describe_glm(fit(usual, quasi(link = power(1/3), variance = "mu"), counts, start = c(1.7, 0, 0, 0, 0))),
    mean_only = describe_glm(fit(y ~ 1, poisson, counts))),
  gamma = list(data = "positive",
    log = everything(fit(usual, Gamma("log"), positive), "F"),
    inverse = describe_glm(fit(usual, Gamma("inverse"), positive)),
    weighted = describe_glm(fit(usual, Gamma("log"), positive, weights = w)),
    identity = describe_glm(fit(usual, Gamma("identity"), positive, start = c(2.2, 0, 0, 0, 0))),
    sqrt = describe_glm(fit(usual, Gamma(power(0.5)), positive))),
  inverse_gaussian = list(data = "positive",
    log = everything(fit(usual, inverse.gaussian("log"), positive), "F"),
    canonical = describe_glm(fit(y ~ x2 + group, inverse.gaussian, positive)),
    weighted = describe_glm(fit(usual, inverse.gaussian("log"), positive, weights = w)),
    mean_only = describe_glm(fit(y ~ 1, inverse.gaussian("log"), positive))),
  gaussian = list(data = "positive",
    log = describe_glm(fit(usual, gaussian("log"), positive, start = c(0.8, 0, 0, 0, 0))),
    power_half = describe_glm(fit(usual, quasi(link = power(0.5), variance = "constant"), positive)),
    identity = describe_glm(fit(usual, gaussian, positive, weights = w))),
  tweedie = list(data = "positive",
    # A quasi-likelihood with V(mu) = mu^1.5: coefficients and standard errors only.
    power_1_5 = {
      m <- fit(usual, statmod::tweedie(var.power = 1.5, link.power = 0), positive)
      list(names = names(coef(m)), coefficients = plain(coef(m)), se = plain(coef(summary(m))[, 2]),
           deviance = deviance(m), dispersion = summary(m)$dispersion)
    })
)
write_results(results, "glm")
