# Draws the data sets of the references and writes them to data/. Values are rounded, so that a file holds them exactly.
set.seed(2024)
dir.create("data", showWarnings = FALSE)
save_data <- function(rows, name) write.csv(rows, file.path("data", paste0(name, ".csv")), row.names = FALSE, quote = FALSE)

predictors <- function(n) {
  x1 <- round(rnorm(n), 3)
  data.frame(x1 = x1, x2 = round(0.5 * x1 + runif(n, -2, 2), 3), group = sample(c("a", "b", "c"), n, TRUE))
}
effect <- function(rows) 0.4 * rows$x1 - 0.3 * rows$x2 + c(a = 0, b = 0.5, c = -0.4)[rows$group]

# y has errors that are heteroscedastic, correlated in time and within clusters; w are prior weights.
n <- 60
rows <- predictors(n)
rows$cluster <- rep(1:12, each = 5)
rows$w <- round(runif(n, 0.5, 3), 2)
errors <- as.numeric(arima.sim(list(ar = 0.5), n)) * exp(0.3 * rows$x1) + rnorm(12)[rows$cluster]
rows$y <- round(2 + 1.5 * effect(rows) + errors, 3)
save_data(rows, "linear")

n <- 90
rows <- predictors(n)
rows$cluster <- rep(1:15, each = 6)
rows$w <- sample(1:4, n, TRUE)
rows$y <- rbinom(n, 1, plogis(0.2 + 1.5 * effect(rows)))
save_data(rows, "binary")

# Rows of trials: the share of successes varies more than a binomial one, and some shares are 0 or 1.
n <- 30
rows <- predictors(n)
rows$trials <- sample(1:15, n, TRUE)
rows$successes <- rbinom(n, rows$trials, rbeta(n, 3 * plogis(effect(rows)), 3 * plogis(-effect(rows))))
save_data(rows, "grouped")

# Counts with a gamma-distributed rate: a negative binomial of theta = 2; exposure is for offsets.
n <- 100
rows <- predictors(n)
rows$exposure <- round(runif(n, 0.5, 4), 2)
rows$w <- round(runif(n, 0.5, 3), 2)
rows$y <- rnbinom(n, size = 2, mu = rows$exposure * exp(0.6 + effect(rows)))
save_data(rows, "counts")

n <- 80
rows <- predictors(n)
rows$w <- round(runif(n, 0.5, 3), 2)
rows$y <- round(rgamma(n, shape = 4, rate = 4 / exp(0.8 + 0.6 * effect(rows))), 4)
save_data(rows, "positive")

# An ordered response of four levels, and a response of three classes without an order.
n <- 150
rows <- predictors(n)
rows$w <- round(runif(n, 0.5, 3), 2)
latent <- 2 * effect(rows) + rlogis(n)
rows$rating <- cut(latent, c(-Inf, -1, 0.3, 1.8, Inf), labels = c("bad", "fair", "good", "great"))
second <- 0.5 + rows$x1 + rlogis(n)
rows$choice <- ifelse(latent > second & latent > 0, "bus", ifelse(second > 0, "car", "train"))
save_data(rows, "choices")

# Completely separated by x1: the maximum-likelihood estimate does not exist.
rows <- data.frame(x1 = c(-2.1, -1.6, -1.2, -0.7, -0.3, 0.2, 0.6, 0.9, 1.5, 2.2),
                   x2 = c(0.3, -0.5, 1.1, 0.8, -1.2, 0.4, -0.3, 1.6, -0.9, 0.1),
                   y = c(0, 0, 0, 0, 0, 1, 1, 1, 1, 1))
save_data(rows, "separated")
