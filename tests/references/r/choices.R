# MASS::polr for ordered responses, nnet::multinom for others. Run after data.R.
source("common.R")
rows <- read_data("choices")
rows$rating <- factor(rows$rating, levels = c("bad", "fair", "good", "great"), ordered = TRUE)
new <- data.frame(x1 = c(-1.5, 0, 0.7), x2 = c(0.2, -1, 2), group = factor(c("a", "b", "c")))

estimate <- as_written(quote(polr), data = quote(rows), Hess = TRUE, control = quote(list(reltol = 1e-15, maxit = 1000)))
describe_polr <- function(m) {
  table <- coef(summary(m))
  list(names = names(coef(m)), coefficients = plain(coef(m)), threshold_names = names(m$zeta), thresholds = plain(m$zeta),
       se = plain(table[, "Std. Error"]), deviance = deviance(m), loglik = as.numeric(logLik(m)), aic = AIC(m), edf = m$edf,
       probabilities = unname(predict(m, new, type = "probs")), classes = as.character(predict(m, new)))
}

choice <- nnet::multinom(choice ~ x1 + x2 + group, rows, trace = FALSE, maxit = 2000, reltol = 1e-14, abstol = 1e-14, Hess = TRUE)
results <- list(
  data = "choices", new = new,
  polr = list(logit = describe_polr(estimate(rating ~ x1 + x2 + group)),
              weighted = describe_polr(estimate(rating ~ x1 + x2 + group, weights = w)),
              probit = describe_polr(estimate(rating ~ x1 + x2 + group, method = "probit")),
              cloglog = describe_polr(estimate(rating ~ x1 + x2 + group, method = "cloglog"))),
  multinom = list(classes = choice$lev, names = colnames(coef(choice)), coefficients = unname(coef(choice)),
                  se = unname(summary(choice)$standard.errors), deviance = deviance(choice), aic = AIC(choice),
                  probabilities = unname(predict(choice, new, type = "probs")))
)
write_results(results, "choices")
