"""Statements from text."""

from __future__ import annotations

import re

from .tree import Call, Expr, Extent, Index, Number, Place, Read, Statement

TOKENS = re.compile(r"\s*(\d+\.?\d*|\w+|\S)")
STATEMENT = re.compile(r"(.*?)\s(=|\+=|=max|=min|max=)\s(.*)")


def statements(text: str) -> tuple[Statement, ...]:
    """One a line."""
    return tuple(statement(line) for line in text.strip().splitlines())


def statement(line: str) -> Statement:
    """A statement."""
    target, how, value = STATEMENT.fullmatch(line.strip()).groups()
    return Statement(Reader(target).whole(), how, Reader(value).whole())


class Reader:
    """Reads a value token by token."""

    def __init__(self, text: str):
        self.tokens = [*TOKENS.findall(text), "end"]

    def whole(self) -> Expr:
        """All of it."""
        expr = self.sum()
        assert self.tokens == ["end"], self.tokens
        return expr

    def take(self, *expected: str) -> str:
        """The next token, if it is one of these."""
        if expected and self.tokens[0] not in expected:
            return ""
        return self.tokens.pop(0)

    def sum(self) -> Expr:
        left = self.product()
        while operator := self.take("+", "-"):
            left = Call(operator, (left, self.product()))
        return left

    def product(self) -> Expr:
        left = self.factor()
        while operator := self.take("*", "/"):
            left = Call(operator, (left, self.factor()))
        return left

    def factor(self) -> Expr:
        if self.take("-"):
            return Call("neg", (self.factor(),))
        if self.take("("):
            expr = self.sum()
            self.take(")")
            return expr
        token = self.take()
        if token[0].isdigit():
            return Number(float(token))
        if self.take("["):
            return Read(token, self.places())
        return self.call(token) if self.take("(") else Index(token)

    def call(self, name: str) -> Expr:
        """Behind the parenthesis."""
        of = [self.sum()]
        while self.take(","):
            of.append(self.sum())
        self.take(")")
        return Extent(of[0].letter) if name == "DIMS" else Call(name, tuple(of))

    def places(self) -> tuple[Place, ...]:
        """Behind the bracket."""
        found = []
        while not self.take("]"):
            found.append(self.place())
            self.take(",")
        return tuple(found)

    def place(self) -> Place:
        """A letter, a sum of two, or an element of an array of positions."""
        name = self.take()
        if self.take("["):
            return Place("".join(place.letters for place in self.places()), name)
        while self.take("+"):
            name += self.take()
        return Place(name)
