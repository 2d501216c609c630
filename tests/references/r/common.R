# What the scripts of this folder share: reading data, converting results, writing JSON.
suppressPackageStartupMessages({ library(jsonlite); library(MASS); library(sandwich); library(car) })
options(contrasts = c("contr.treatment", "contr.poly"))
tight <- glm.control(epsilon = 1e-15, maxit = 200)

read_data <- function(name) read.csv(file.path("data", paste0(name, ".csv")), stringsAsFactors = TRUE)

# A table (anova, drop1, Anova) as named columns; NA becomes null.
table_columns <- function(table) c(list(term = I(trimws(rownames(table)))), lapply(as.data.frame(table), I))
interval_columns <- function(interval) list(lower = plain(interval[, 1]), upper = plain(interval[, 2]))
plain <- function(values) I(unname(as.numeric(values)))  # I(): an array, also of one value

# JSON with one line for each quantity of each model.
as_json <- function(values, depth) {
  if (depth == 0 || !is.list(values) || is.data.frame(values))
    return(as.character(toJSON(values, digits = I(14), auto_unbox = TRUE, na = "null", matrix = "rowmajor", dataframe = "columns")))
  lines <- mapply(function(name, value) paste0("\"", name, "\": ", as_json(value, depth - 1)), names(values), values)
  paste0("{\n", paste(lines, collapse = ",\n"), "}")
}
write_results <- function(results, name) writeLines(as_json(c(list(r = R.version.string), results), 3), paste0(name, ".json"))

# A function that calls `model` with the arguments as they were written, so that update() can evaluate them again.
as_written <- function(model, ...) {
  more <- list(...)
  function(...) {
    call <- match.call()
    call[[1]] <- model
    for (name in names(more)) call[[name]] <- more[[name]]
    eval(call, parent.frame())
  }
}

# The numbers of summary() that lm and glm share.
describe <- function(model) {
  table <- coef(summary(model))
  list(
    formula = paste(deparse(formula(model)), collapse = " "),
    names = I(names(coef(model))), coefficients = plain(coef(model)), se = plain(table[, 2]),
    statistic = plain(table[, 3]), p_value = plain(table[, 4]), vcov = unname(vcov(model)),
    loglik = as.numeric(logLik(model)), df = attr(logLik(model), "df"), aic = AIC(model), bic = BIC(model),
    df_residual = df.residual(model), deviance = deviance(model), fitted = plain(fitted(model)),
    wald = interval_columns(unname(confint.default(model)))
  )
}

describe_glm <- function(model) {
  found <- describe(model)
  c(found, list(
    family = model$family$family, link = model$family$link, dispersion = summary(model)$dispersion,
    null_deviance = model$null.deviance, df_null = model$df.null, pearson = sum(residuals(model, "pearson")^2)
  ))
}

# Leave-one-out quantities, exact for lm and one-step for glm.
influence_columns <- function(model) list(
  hatvalues = plain(hatvalues(model)), cooks_distance = plain(cooks.distance(model)),
  rstandard = plain(rstandard(model)), rstudent = plain(rstudent(model)),
  dffits = plain(dffits(model)), dfbetas = unname(dfbetas(model)),
  covratio = plain(covratio(model))
)
