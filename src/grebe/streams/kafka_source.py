"""Events of a Kafka topic, read by the driver: offsets are the view's own, nothing is committed to Kafka."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grebe.errors import ConfigError, HistoryExpiredError, MissingExtraError, SourceError
from grebe.streams.landed import Batch, Incoming, SourceWindow

if TYPE_CHECKING:
    from confluent_kafka import Consumer

SECONDS: Final = 10.0
"""How long a broker may take to answer."""


@dataclass(slots=True)
class KafkaSource:
    """One topic; what is read is said by whoever reads."""

    topic: str
    servers: str
    options: tuple[tuple[str, str], ...] = ()
    on_gap: str = "stop"
    most: int = 1000
    _consumer: Any = None
    _gaps: int = 0

    def close(self) -> None:
        """Leave the broker."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def read(self, identity: str | None, positions: Mapping[str, int]) -> Batch | None:
        """The committed events behind some positions, at most so many; None when there are none.

        Raises:
            HistoryExpiredError: the topic no longer holds what lies behind a position.
            SourceError: the broker cannot be reached, or has no such topic.
        """
        consumer = self._connected()
        own = self._identity(consumer)
        known = positions if identity in (None, "", own) else {}
        marks = self._watermarks(consumer, own)
        begin, end = {}, {}
        for part, (low, high) in marks.items():
            at = known.get(part, low)
            if at < low:
                if self.on_gap != "continue":
                    raise HistoryExpiredError(
                        f'topic "{self.topic}" no longer holds offsets {at} to {low - 1} of partition {part}',
                        detail="the broker's own retention removed them before they were read",
                        hint='set on_gap = "continue" for the stream to go on without them',
                    )
                self._gaps += low - at
                at = low
            if at > high:
                raise HistoryExpiredError(
                    f'topic "{self.topic}" ends at offset {high} of partition {part}, before {at}',
                    detail="it holds less than was read of it",
                    hint="was it made anew? adopt it, if its events are new ones",
                )
            begin[part], end[part] = at, high
        waiting = {part: end[part] for part in end if begin[part] < end[part]}
        if not waiting:
            return None
        events, reached = self._events(consumer, begin, waiting)
        window_end = {part: reached.get(part, begin[part]) for part in begin}
        return Batch(events, SourceWindow(own, begin, window_end))

    # --- the broker -----------------------------------------------------------------------------

    def _connected(self) -> Any:  # noqa: ANN401  confluent-kafka has no types
        if self._consumer is None:
            try:
                from confluent_kafka import Consumer
            except ModuleNotFoundError as error:
                raise MissingExtraError.of("confluent-kafka", "kafka") from error
            if not self.topic or not self.servers:
                raise ConfigError(
                    "a stream of Kafka has servers and a topic",
                    hint='write servers = "host:9092" and topic = "…" below [streams.<name>]',
                )
            self._consumer = Consumer(
                {
                    **dict(self.options),
                    "bootstrap.servers": self.servers,
                    "log_level": 0,  # what fails is told as an error
                    "group.id": "grebe",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "isolation.level": "read_committed",
                    "auto.offset.reset": "error",
                }
            )
        return self._consumer

    def _identity(self, consumer: Consumer) -> str:
        """What tells the topic from another one of its name: its id, where the broker has one."""
        from confluent_kafka import TopicCollection
        from confluent_kafka.admin import AdminClient

        admin = AdminClient(
            {**dict(self.options), "bootstrap.servers": self.servers, "log_level": 0}
        )
        try:
            found = admin.describe_topics(TopicCollection([self.topic]), request_timeout=SECONDS)[
                self.topic
            ].result(SECONDS)
        except Exception as error:
            raise self._away(error) from error
        return str(found.topic_id)

    def _watermarks(self, consumer: Consumer, _: str) -> dict[str, tuple[int, int]]:
        from confluent_kafka import TopicPartition

        try:
            listed = consumer.list_topics(self.topic, timeout=SECONDS).topics[self.topic]
            if listed.error is not None:
                raise SourceError(f'topic "{self.topic}" cannot be read', detail=str(listed.error))
            return {
                str(number): consumer.get_watermark_offsets(
                    TopicPartition(self.topic, number), timeout=SECONDS, cached=False
                )
                for number in sorted(listed.partitions)
            }
        except SourceError:
            raise
        except Exception as error:
            raise self._away(error) from error

    def _events(
        self, consumer: Consumer, begin: Mapping[str, int], end: Mapping[str, int]
    ) -> tuple[list[Incoming], dict[str, int]]:
        """What lies between; offsets of aborted transactions are passed over like markers."""
        from confluent_kafka import KafkaError, TopicPartition

        consumer.assign(
            [TopicPartition(self.topic, int(part), begin[part]) for part in sorted(end)]
        )
        events: list[Incoming] = []
        reached = {part: begin[part] for part in end}
        until = time.monotonic() + SECONDS
        left = set(end)
        while left and len(events) < self.most and time.monotonic() < until:
            message = consumer.poll(0.5)
            if message is None:
                continue
            part = str(message.partition())
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                reached[part] = max(reached[part], int(message.offset() or 0))
                left.discard(part)
                continue
            if error is not None:
                raise self._away(RuntimeError(str(error)))
            offset = int(message.offset() or 0)
            reached[part] = offset + 1
            if offset + 1 >= end[part]:
                left.discard(part)
            text = message.value()
            events.append(
                Incoming(b"" if text is None else bytes(text), f"{part}:{offset}", part, offset)
            )
        consumer.unassign()
        return events, reached

    def _away(self, error: Exception) -> SourceError:
        return SourceError(
            f'topic "{self.topic}" cannot be read now',
            detail=str(error),
            hint=f"is a broker at {self.servers}?",
            code="source-away",
        )
