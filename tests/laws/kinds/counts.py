from suffice.statistics import CategoryCounts, EventCounts, PresenceCounts

from . import Kind, close_counts, lawful, whole_numbers, with_gaps

lawful(Kind(EventCounts, EventCounts.over, whole_numbers, close_counts))
lawful(Kind(PresenceCounts, lambda labels: PresenceCounts.over(labels, 1.5), whole_numbers, close_counts))
lawful(Kind(CategoryCounts, lambda labels: CategoryCounts.over(labels, (5, 6, 7)), whole_numbers, close_counts))

GAPS = with_gaps(whole_numbers)
lawful(Kind(EventCounts, lambda labels: EventCounts.over(labels, True), GAPS, close_counts, trait="gaps"))
lawful(Kind(PresenceCounts, lambda labels: PresenceCounts.over(labels, 1.5, True), GAPS, close_counts, trait="gaps"))
lawful(
    Kind(CategoryCounts, lambda labels: CategoryCounts.over(labels, (5, 6, 7), True), GAPS, close_counts, trait="gaps")
)
