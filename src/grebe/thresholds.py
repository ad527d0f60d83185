"""Every size that a decision rests on, in one place, each with what was measured.

Read as `thresholds.NAME` when a decision is made, so that a test may make every table a large one.
Where memory is meant the size is in bytes.
"""

from __future__ import annotations

# Incremental or full (`compiler/plan/cost.py`).
FULL_SHARE = 0.3
"""Share of changed rows above which recomputing is cheaper, as long as no run has shown better."""
FULL_SHARE_JOINED = 0.03
"""The same for views over several sources: the change of one is joined with all of the others, as in a
full refresh. Three sources, changes all over: 0.5 of a full refresh at 0.7 % of the rows, 1.8 at 7 %."""
FULL_LEAST_ROWS = 1_000
"""Changed rows up to which nothing is gained by recomputing: planning is all that either costs."""
PAST_RUNS = 2
"""Incremental runs from which their times are trusted."""
PAST_REACH = 4
"""How many times the largest measured change a change may be to be judged by measured times."""

# Which steps run (`compiler/bind/`).
BROADCAST_ROWS = 100_000
"""Rows that are expected at most for a relation to go to every worker."""
WHOLE_STATE_ROWS = 200_000
"""Stored rows up to which they are read whole: one round trip less than by their keys."""
RANGE_FILES = 2
"""Files from which a range of keys can skip some."""
RANGE_SHARE = 0.5
"""Share of bytes up to which a range of keys is worth a filter: where it skips none, it costs."""
DRIVER_ROWS = 200_000
"""Changed source rows up to which the results of steps are expected to fit on the driver."""
KEPT_SCANS = 2
"""Scans of a source from which rows that are near a change are kept."""
KEPT_SOURCE_ROWS = 200_000
"""Rows of a source from which reading it once less is worth a trip to the driver."""
KEPT_ROWS = 100_000
"""Rows that are expected at most, to be kept on the driver."""
KEPT_SHARE = 4.0
"""A source must be this many times larger than what is kept of it."""
SHARED_SOURCE_ROWS = 1_000_000
"""Rows of a source from which one read for both versions is worth a statement and a trip to the driver."""
SMALL_BYTES = 64 << 20
"""Bytes of rows that a step may read to be computed on the driver, without a statement of Spark's."""
SMALL_SOURCE_BYTES = 12 << 20
"""Bytes of a source's rows up to which it is read whole: once for every view and step of a run."""
SMALL_VALUE_BYTES = 12
"""What a value is taken to need, before rows are read."""
SMALL_UNPACKED = 3
"""How many times larger rows are than the files that they are read from, about."""
COMMITTED_BYTES = 64 << 20
"""Bytes of rows up to which the driver writes a file of them."""
SMALL_RESULT_ROWS = 1_000_000
"""Rows of a view up to which they may be read on the driver, to be merged with a change there."""
FILTERED_SHARE = 0.25
"""The share of rows that a condition is taken to leave."""

# How a view is written (`compiler/bind/write_choice.py`, `engine/clustering.py`, `engine/upkeep.py`).
REWRITTEN_ROWS = 2_000
"""Stored rows up to which writing all of them is cheaper than merging some."""
LISTED_ROWS = 2_000
"""Stored rows up to which a dictionary of keys is quicker than a join."""
REWRITTEN_ON_DRIVER_ROWS = 150_000
"""The same where the driver writes the file and the commit itself: a statement of Spark's costs more."""
MERGED_ROWS = 500_000
"""Stored rows from which one outer join of all of them is worse than two cheap passes."""
CLUSTERED_ROWS = 500_000
"""Rows from which a table has several files, so that their order matters."""
CLUSTERED_OVERLAP = 1.5
"""Files, on average, in which a key of an ordered table may lie."""
UPKEEP_FILES = 32
"""Files from which a table is looked at: every refresh adds one or two."""
UPKEEP_BYTES = 16 << 20
"""Files that are larger on average are left as they are."""

# The check of a first build (`engine/refresh.py`).
CHECKED_ROWS = 20_000_000
"""Source rows up to which a first build is compared with the user's text as a whole."""
CHECKED_SHARE = 0.01
"""The part of the keys that is compared above that."""

# What is read on the driver rather than by Spark (`formats/`).
DRIVER_BYTES = 256 << 20
"""Bytes of files that the driver reads itself for one window."""
PLANNED_BYTES = 16 << 20
"""Bytes of files up to which a plan counts changed rows without being asked to: well below a second."""
COLLECTED_ROWS = 200_000
"""Rows of a delta that only Spark can read, up to which they are brought to the driver."""
FEED_ROWS = 1_000_000
"""Changed rows of a DuckLake up to which its feed is read on the driver, whatever files they lie in."""
DUCK_BYTES = 64 << 20
"""Compressed bytes of files up to which DuckDB's rows go to Spark through the driver's memory."""
WRITTEN_ROWS = 500_000
"""Rows up to which a change of a Delta table is written by the driver."""
LIVE_FILES = 256
"""Files of a Delta table up to which Spark opens each: of more, Delta knows better which it need not."""
DELETED_ROWS = 200_000
"""Deleted rows that every task may have to look up."""
FILE_BYTES = 64 << 10
"""Bytes of a Delta file that make no difference: there the fixed part of a file is all there is."""
OPENED_BYTES = 1 << 18
"""What opening an Iceberg file is taken to cost, as bytes that could be read meanwhile."""

# Tables of stream views (`formats/*/event_table.py`).
EVENT_FILES = 64
"""Files from which on those of a stream view are put together: every batch makes one."""
EVENT_BYTES = 8 << 20
"""A file of this size is left as it is."""

# Row views (`engine/rows/`).
MOVED_ROWS = 20_000
"""Rows that enter, leave or change, up to which they are brought to the driver instead of a table of their own."""
DEPARTED_SECONDS = 7 * 24 * 3600
"""How long results of rows that left are kept."""

INBOX_SWEEP_SECONDS = 3_600
"""How often a server looks for events of an inbox that may go: a look reads three columns of it."""
