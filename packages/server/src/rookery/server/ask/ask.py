"""Ask as a part of a site: creates its parts from the settings, limits requests, and tracks running
answers."""

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import timedelta

from rookery.core.boundary.bridge import Bridge
from rookery.core.boundary.offload import Gate
from rookery.core.errors import Complaint
from rookery.core.http_client import HeldCall
from rookery.core.protocol.ask import AskEvent, SourceList, TokenEvent
from rookery.server.ask.answering.extractive import ExtractiveAnswerer
from rookery.server.ask.answering.grounds import AnswerFailed
from rookery.server.ask.answering.models import DIALECTS, ModelAnswerer, ModelLimits
from rookery.server.ask.chat import AskSteps, Question, RunningAnswer
from rookery.server.ask.health import AnswerOutcome, AskHealth, AskStats
from rookery.server.ask.passages import Retriever
from rookery.server.ask.pipeline import choose_pipeline
from rookery.server.ask.sessions import ChatLimits, ChatRows, ChatSessions
from rookery.server.http.steps import Process
from rookery.server.identity.login import Throttle
from rookery.server.settings import Settings

SIMILAR_AT_ONCE = 4
HOUR_SECONDS = 3600.0


class Ask:
    """Ask of a site. `gate` limits the running answers, `similar_gate` the searches for similar
    tests."""

    def __init__(
        self,
        settings: Settings,
        rows: ChatRows,
        retriever: Retriever,
        stop_words: frozenset[str],
        *,
        process: Process,
        bridge: Callable[[], Bridge | None],
    ) -> None:
        """Raise Complaint for settings that contradict each other."""
        without_model = ExtractiveAnswerer(stop_words)
        self.answerer = make_answerer(settings) or without_model
        self.chats = ChatSessions(
            rows, process.clock, read_chat_limits(settings), secrets.token_hex
        )
        self.health = AskHealth(self.answerer.name)
        self.gate = Gate("ask", settings.ask_answers)
        self.similar_gate = Gate("similar", SIMILAR_AT_ONCE)
        self.visitors = Throttle(most=settings.ask_visitor_questions, seconds=HOUR_SECONDS)
        self.steps = AskSteps(
            retriever,
            self.chats,
            self.answerer,
            without_model,
            self.health,
            process.clock,
        )
        self._pipeline = choose_pipeline(settings.ask_pipeline, self.steps, process.threads, bridge)
        self._clock, self._log = process.clock, process.log

    def stats(self) -> AskStats:
        return self.health.stats(model_works=self.answerer.works)

    def begin(self, question: Question) -> RunningAnswer:
        """Begin an answer, which is made while it is read."""
        held = HeldCall(0.0)
        return RunningAnswer(self._follow(question, held), held)

    async def _follow(self, question: Question, held: HeldCall) -> AsyncGenerator[AskEvent, None]:
        """Run the pipeline, and count the outcome."""
        began, outcome = self._clock.seconds(), AnswerOutcome.LEFT
        try:
            outcome_if_whole, first = AnswerOutcome.ANSWERED, True
            async with aclosing(self._pipeline(question, held)) as events:
                async for event in events:
                    if isinstance(event, SourceList) and not event.sources:
                        outcome_if_whole = AnswerOutcome.UNFOUND
                    if isinstance(event, TokenEvent) and first:
                        first = False
                        self.health.note_first_piece(self._clock.seconds() - began)
                    yield event
            outcome = outcome_if_whole
        except AnswerFailed as failed:
            outcome = AnswerOutcome.FAILED
            self.health.note_model_failure()
            self._log.warning("model_failed", reason=str(failed), detail=failed.detail)
            raise
        except Exception:
            outcome = AnswerOutcome.FAILED
            raise
        finally:
            self.health.note_answer(outcome, self._clock.seconds() - began)


def make_answerer(settings: Settings) -> ModelAnswerer | None:
    """Return the model of the settings, or None; raise Complaint if its settings are incomplete."""
    dialect = DIALECTS.get(settings.ask_backend)
    if dialect is None:
        return None
    if not settings.ask_model_url or not settings.ask_model:
        raise Complaint(
            f"ROOKERY_ASK_BACKEND={settings.ask_backend} needs ROOKERY_ASK_MODEL_URL and"
            " ROOKERY_ASK_MODEL."
        )
    limits = ModelLimits(
        first_seconds=settings.ask_first_seconds,
        whole_seconds=settings.ask_answer_seconds,
        context_tokens=settings.ask_context_tokens,
    )
    url, model, key = settings.ask_model_url, settings.ask_model, settings.ask_api_key
    return ModelAnswerer(dialect, url, model, key, limits)


def read_chat_limits(settings: Settings) -> ChatLimits:
    """Return the limits on stored conversations of this site."""
    days = settings.ask_retention_days
    return ChatLimits(
        sessions=settings.ask_sessions,
        lasting=timedelta(days=days) if days else None,
        model_questions=settings.ask_model_questions,
    )
