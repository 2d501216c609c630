# lm: estimates, intervals, predictions, residuals, influence, anova and covariances. Run after data.R, in this folder.
source("common.R")
rows <- read_data("linear")
new <- data.frame(x1 = c(-1.5, 0, 0.7, 3), x2 = c(0.2, -1, 2, 0.5), group = factor(c("a", "b", "c", "a")))

predictions <- function(model, level) {
  confidence <- predict(model, new, interval = "confidence", level = level, se.fit = TRUE)
  # A new row has weight 1; predict() warns that it assumes so.
  prediction <- suppressWarnings(predict(model, new, interval = "prediction", level = level))
  list(fit = plain(confidence$fit[, 1]), se_fit = plain(confidence$se.fit), level = level,
       confidence = interval_columns(unname(confidence$fit[, 2:3])),
       prediction = interval_columns(unname(prediction[, 2:3])))
}

everything <- function(model, smaller) {
  found <- describe(model)
  s <- summary(model)
  c(found, list(
    sigma = s$sigma, r_squared = s$r.squared, adj_r_squared = s$adj.r.squared, f_statistic = plain(s$fstatistic),
    confint = interval_columns(unname(confint(model))), confint_80 = interval_columns(unname(confint(model, level = 0.8))),
    residuals = list(response = plain(residuals(model, "response")), pearson = plain(residuals(model, "pearson")),
                     deviance = plain(residuals(model, "deviance"))),
    influence = influence_columns(model),
    anova = table_columns(anova(model)), anova_smaller = table_columns(anova(smaller, model)),
    drop1 = table_columns(drop1(model, test = "F")),
    type_2 = table_columns(Anova(model, type = 2)), type_3 = table_columns(Anova(model, type = 3)),
    vif = table_columns(vif(model)), new = new, predict_95 = predictions(model, 0.95), predict_80 = predictions(model, 0.8)
  ))
}

covariances <- function(model) list(
  HC = sapply(c("const", "HC0", "HC1", "HC2", "HC3", "HC4"), function(type) unname(vcovHC(model, type = type)), simplify = FALSE),
  CL = list(HC0 = unname(vcovCL(model, rows$cluster, type = "HC0", cadjust = FALSE)),
            HC0_adjusted = unname(vcovCL(model, rows$cluster, type = "HC0", cadjust = TRUE)),
            HC1_adjusted = unname(vcovCL(model, rows$cluster, type = "HC1", cadjust = TRUE))),
  # lag: the autocovariances of lags 0 to lag have Bartlett weights 1 - l / (lag + 1).
  newey_west = list(lag_0 = unname(NeweyWest(model, lag = 0, prewhite = FALSE, adjust = FALSE)),
                    lag_4 = unname(NeweyWest(model, lag = 4, prewhite = FALSE, adjust = FALSE)),
                    lag_4_adjusted = unname(NeweyWest(model, lag = 4, prewhite = FALSE, adjust = TRUE)))
)

full <- lm(y ~ x1 + x2 + group, rows)
weighted <- lm(y ~ x1 + x2 + group, rows, weights = w)
interaction <- lm(y ~ x1 * group + x2, rows)
origin <- lm(y ~ 0 + x1 + x2, rows)
mean_only <- lm(y ~ 1, rows)
functions <- lm(y ~ poly(x1, 3) + I(x2^2) + log(w), rows)
spline <- lm(y ~ splines::bs(x1, df = 5) + splines::ns(x2, df = 3), rows)
results <- list(
  data = "linear",
  full = c(everything(full, lm(y ~ x1, rows)), list(covariance = covariances(full))),
  weighted = c(everything(weighted, lm(y ~ x1, rows, weights = w)), list(covariance = covariances(weighted))),
  interaction = c(describe(interaction), list(
    model_matrix = unname(model.matrix(interaction)), anova = table_columns(anova(interaction)),
    drop1 = table_columns(drop1(interaction, test = "F")), type_2 = table_columns(Anova(interaction, type = 2)))),
  origin = c(describe(origin), list(r_squared = summary(origin)$r.squared, sigma = summary(origin)$sigma)),
  mean_only = c(describe(mean_only), list(sigma = summary(mean_only)$sigma, confint = interval_columns(unname(confint(mean_only))))),
  functions = c(describe(functions), list(model_matrix = unname(model.matrix(functions)))),
  spline = c(describe(spline), list(model_matrix = unname(model.matrix(spline))))
)
write_results(results, "linear")
