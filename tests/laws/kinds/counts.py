from suffice.statistics import CategoryCounts, EventCounts, PresenceCounts

from . import Kind, close_counts, lawful, whole_numbers

lawful(Kind(EventCounts, EventCounts.over, whole_numbers, close_counts))
lawful(Kind(PresenceCounts, lambda labels: PresenceCounts.over(labels, 1.5), whole_numbers, close_counts))
lawful(Kind(CategoryCounts, lambda labels: CategoryCounts.over(labels, (5, 6, 7)), whole_numbers, close_counts))
