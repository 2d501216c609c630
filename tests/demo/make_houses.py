"""Generator of the demo table of houses, from a seed.

``python -m tests.demo.make_houses`` writes the file again.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from suffice.demo import houses

COLUMNS = (
    *("id", "listed", "area", "rooms", "built", "garden", "district", "heating", "energy"),
    *("note", "price", "viewings", "sold_fast"),
)
ROWS = 800
FIRST_DAY = date(2022, 1, 3)
DAYS = 730
#: Share of missing cells in WITH_MISSING.
MISSING = 0.05
WITH_MISSING = ("area", "garden", "heating", "energy")

#: Per district: effect on log price, effect on the log-odds of a fast sale, share of houses.
DISTRICTS = {
    "Old Town": (0.30, 0.7, 0.14),
    "Harbour": (0.20, 0.3, 0.16),
    "Hillside": (0.15, -0.3, 0.14),
    "Meadows": (0.00, 0.4, 0.22),
    "Station": (-0.10, -0.2, 0.19),
    "Mill Quarter": (-0.25, -0.9, 0.15),
}
ENERGY = "ABCDEFG"

ADJECTIVES = {
    "small": ("cosy", "compact", "small", "tidy"),
    "middle": ("comfortable", "practical", "pleasant", "well planned"),
    "large": ("generous", "spacious", "large", "grand"),
}
HOUSES = {
    "old": ("cottage", "old house", "townhouse"),
    "middle": ("terraced house", "detached house", "family home"),
    "new": ("new build", "modern house", "house by an architect"),
}
PLACES = {
    "Old Town": ("near the market square", "in a cobbled lane", "close to the theatre"),
    "Harbour": ("with a view of the boats", "near the quay", "close to the water"),
    "Hillside": ("on a steep road", "with a wide view", "above the town"),
    "Meadows": ("near the school", "in a quiet street", "beside the park"),
    "Station": ("close to the trains", "near the shops", "on a main road"),
    "Mill Quarter": ("beside the old mill", "near the brewery", "on a main road"),
}
OUTSIDE = {True: ("sunny garden", "garden with apple trees", "large lawn"), False: ("balcony", "yard", "no garden")}
#: Phrases in the notes of houses that sell fast, of those that do not, and of any.
WISHES = {
    "yes": ("ready to move in", "new kitchen", "recently painted", "offers welcome soon", "owner is moving abroad"),
    "no": (
        "needs some work",
        "kitchen from the seventies",
        "price is firm",
        "owner is in no hurry",
        "let until summer",
    ),
    "any": ("viewing by appointment", "quiet neighbours", "two bathrooms", "cellar included", "bright rooms"),
}


@dataclass(frozen=True)
class House:
    """Attributes of a house, before price, viewings and sale."""

    area: float
    rooms: int
    built: int
    garden: bool
    district: str
    heating: str
    energy: int  # 0 is the best

    @property
    def value(self) -> float:
        """Logarithm of the expected price, in thousands."""
        premium = DISTRICTS[self.district][0] + 0.08 * self.garden - 0.035 * (self.energy - 3)
        return 5.75 + 0.85 * math.log(self.area / 110) + 0.03 * (self.rooms - 4) + premium


def draw(random: Random) -> House:
    """Return a house with correlated size, age, heating and energy class."""
    names, shares = list(DISTRICTS), [share for _, _, share in DISTRICTS.values()]
    district = random.choices(names, shares)[0]
    area = 110 * math.exp(random.gauss(0, 0.33))
    rooms = max(1, round(area / 27 + random.gauss(0, 0.7)))
    built = round(random.triangular(1890, 2021, 1975 if district != "Old Town" else 1910))
    age = (2022 - built) / 130
    heatings = {"gas": 0.45, "oil": 0.1 + 0.4 * age, "heat pump": 0.7 * (1 - age) ** 2, "wood": 0.12}
    heating = random.choices(list(heatings), list(heatings.values()))[0]
    better = {"gas": 0.0, "oil": -0.9, "heat pump": 1.4, "wood": 0.1}[heating]
    energy = min(6, max(0, round(1.2 + 4.5 * age - better + random.gauss(0, 0.8))))
    garden = random.random() < 1 / (1 + math.exp(-(area - 100) / 25 - (0.8 if district == "Meadows" else -0.4)))
    return House(round(area, 1), rooms, built, garden, district, heating, energy)


def poisson(random: Random, mean: float) -> int:
    """Return a Poisson count: draws until their product is below exp(-mean) (Knuth)."""
    product, count = random.random(), 0
    while product > math.exp(-mean):
        product *= random.random()
        count += 1
    return count


def describe(random: Random, house: House, sold_fast: str) -> str:
    """Return the note: its words depend on the attributes and, weakly, on the sale."""
    size = "small" if house.area < 90 else "middle" if house.area < 135 else "large"
    age = "old" if house.built < 1940 else "middle" if house.built < 1995 else "new"
    wish = WISHES[sold_fast if random.random() < 0.4 else random.choice(("yes", "no", "any", "any"))]
    first = f"{random.choice(ADJECTIVES[size])} {random.choice(HOUSES[age])} {random.choice(PLACES[house.district])}"
    sentence = f"{first}, {random.choice(OUTSIDE[house.garden])}, {random.choice(wish)}"
    return sentence[0].upper() + sentence[1:]


def row(random: Random, number: int, listed: date) -> dict[str, str]:
    """Return the cells of one house: attributes, price, viewings, and whether it sold within a month."""
    house = draw(random)
    overpricing = random.gauss(0, 0.16)
    price = math.exp(house.value + overpricing)
    appeal = DISTRICTS[house.district][1]
    season = 0.4 * math.sin(2 * math.pi * (listed.timetuple().tm_yday - 30) / 365)
    demand = -0.4 - 10 * overpricing + 1.5 * appeal - 0.6 * (house.energy - 3) + 0.8 * house.garden + season
    viewings = poisson(random, math.exp(1.8 + 0.11 * demand - 0.2 * (math.log(price) - 5.75)))
    odds = 2.0 * (demand + 0.3 * (viewings - 6)) - 0.6
    sold_fast = "yes" if random.random() < 1 / (1 + math.exp(-odds)) else "no"
    cells = {
        "id": f"H-{number:05d}",
        "listed": listed.isoformat(),
        "area": f"{house.area:.1f}",
        "rooms": str(house.rooms),
        "built": str(house.built),
        "garden": str(house.garden).lower(),
        "district": house.district,
        "heating": house.heating,
        "energy": ENERGY[house.energy],
        "note": describe(random, house, sold_fast),
        "price": f"{price:.1f}",
        "viewings": str(viewings),
        "sold_fast": sold_fast,
    }
    return cells | {name: "" for name in WITH_MISSING if random.random() < MISSING}


def make_houses(seed: int = 1) -> str:
    """Return the text of the file."""
    random = Random(seed)
    days = sorted(random.randrange(DAYS) for _ in range(ROWS))
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row(random, number, FIRST_DAY + timedelta(day)) for number, day in enumerate(days, 1))
    return file.getvalue()


if __name__ == "__main__":
    houses().write_text(make_houses(), encoding="utf-8", newline="\n")
