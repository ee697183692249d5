"""Answers per query: the weights stay in the house, each answer has noise of its own."""

from reticent.protect.answers.answers import Answered, PrivateAnswers, numbers_of, private_answers
from reticent.protect.answers.counting import charge_answers, set_answer_budget
from reticent.protect.answers.plan import AnswerPlan, calibrated_answers

__all__ = [
    "AnswerPlan",
    "Answered",
    "PrivateAnswers",
    "calibrated_answers",
    "charge_answers",
    "numbers_of",
    "private_answers",
    "set_answer_budget",
]
