"""Partners that are absent, silent, heard twice, or one more than before."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from harness.channel.disturbance import Disturbance
from harness.types.vocabulary import Boxes, Message, Payload, Points
from studies.metamorphic.operators.sharing import refuse_ego_alone
from studies.metamorphic.scenes.operator import (
    ChangedScene,
    DoesNotApplyError,
    Level,
    Need,
    TruthExpectation,
)
from studies.metamorphic.scenes.scene import (
    PARTNER_RANGE,
    PARTNERS,
    AgentView,
    CooperativeScene,
    compute_lidar_gap,
    iterate_other_views,
)
from studies.space import Space, SpaceParameter, Values, get_numeric_value

WHICH: Space = (
    SpaceParameter(name="partner", unit="1 is the first", low=1, high=PARTNERS, kind="whole"),
)
HowMany = Literal["one", "all"]


class PartnerOperator:
    """An operator on one partner, given by its number, or on all of them."""

    level: Level = "sharing"
    paper = "ours"
    needs: frozenset[Need] = frozenset()

    def __init__(self, how_many: HowMany = "one") -> None:
        self.how_many = how_many
        self.space: Space = WHICH if how_many == "one" else ()

    def choose_partners(self, scene: CooperativeScene, values: Values) -> tuple[int, ...]:
        """Return the places of the chosen partners; a number beyond the last means the last."""
        refuse_ego_alone(scene)
        last = len(scene.partners) - 1
        if self.how_many == "all":
            return tuple(range(last + 1))
        return (min(max(round(get_numeric_value(values, "partner")), 1) - 1, last),)


class AbsentPartners(PartnerOperator):
    """Partners are not there."""

    name = "absent"

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene without the chosen partners."""
        chosen = self.choose_partners(scene, values)
        kept = tuple(view for place, view in enumerate(scene.partners) if place not in chosen)
        return make_truth_preserving_change(replace(scene, partners=kept), len(chosen))


class SilentPartners(PartnerOperator):
    """Partners send empty messages: the answer must be that without these partners."""

    name = "silent"

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with empty messages of the chosen partners."""
        chosen = self.choose_partners(scene, values)
        names = frozenset(scene.partners[place].name for place in chosen)
        emptied = EmptiedMessages(names)
        return make_truth_preserving_change(
            replace(scene, on_air=(*scene.on_air, emptied)), len(chosen)
        )


class DuplicateMessages(PartnerOperator):
    """Messages arrive twice."""

    name = "duplicate"

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with the chosen partners again, after all others."""
        chosen = self.choose_partners(scene, values)
        again = tuple(scene.partners[place] for place in chosen)
        return make_truth_preserving_change(
            replace(scene, partners=(*scene.partners, *again)), len(again)
        )


class FewerPartners:
    """Only the first partners stay; for R9 this answer is the source."""

    name = "fewer_partners"
    level: Level = "sharing"
    paper = "ours"
    space: Space = (
        SpaceParameter(name="kept", unit="partners", low=0, high=PARTNERS - 1, kind="whole"),
    )
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with no more partners than that."""
        kept = round(get_numeric_value(values, "kept"))
        if len(scene.partners) <= kept:
            raise DoesNotApplyError(f"{scene.source.name}: has no more than {kept} partners")
        return make_truth_preserving_change(
            replace(scene, partners=scene.partners[:kept]), len(scene.partners) - kept
        )


class OneMorePartner:
    """The nearest agent that is no partner yet becomes one, if it is in range."""

    name = "one_more"
    level: Level = "sharing"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with a partner more, after all others."""
        known = {view.agent for view in scene.views}
        others = [view for view in iterate_other_views(scene.source) if view.agent not in known]
        near = [view for view in others if compute_lidar_gap(scene.ego, view) <= PARTNER_RANGE]
        if not near:
            raise DoesNotApplyError(f"{scene.source.name}: no other agent within range")
        more: AgentView = min(near, key=lambda view: compute_lidar_gap(scene.ego, view))
        return make_truth_preserving_change(replace(scene, partners=(*scene.partners, more)), 1)


class EmptiedMessages(Disturbance):
    """Messages of some senders arrive with nothing in them; maps are 0 everywhere."""

    name = "emptied"
    certain = True

    def __init__(self, senders: frozenset[str]) -> None:
        super().__init__()
        self.senders = senders

    def alter(self, message: Message) -> Message:
        """Return the message without content."""
        if message.sender not in self.senders:
            return message
        return replace(message, payload=make_empty_payload(message.payload))


def make_empty_payload(payload: Payload) -> Payload:
    """Return a payload of its kind with nothing in it."""
    if isinstance(payload, Boxes):
        return Boxes.none()
    if isinstance(payload, Points):
        return Points(payload.in_lidar[:0])
    maps = tuple(np.zeros_like(feature_map) for feature_map in payload.maps)
    return replace(payload, maps=maps)


def make_truth_preserving_change(scene: CooperativeScene, changed: int) -> ChangedScene:
    """Return a change that leaves the ground truth as it was.

    Args:
        scene: after the change.
        changed: how much was changed; 0: nothing.
    """
    return ChangedScene(scene=scene, expectation=TruthExpectation(), changed=changed)
