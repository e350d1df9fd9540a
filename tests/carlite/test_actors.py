"""The actor table: slots, growth, removal."""

from __future__ import annotations

import numpy as np
import pytest

from harness.carlite.actors import ActorKind, ActorTable


def test_a_new_actor_is_zero_or_absent_but_for_what_it_is_given() -> None:
    table = ActorTable()
    slot = table.add_actor(7, kind=ActorKind.VEHICLE, position=(1.0, 2.0, 3.0))
    assert table.id[slot] == 7
    assert table.kind[slot] == ActorKind.VEHICLE
    assert table.position[slot].tolist() == [1.0, 2.0, 3.0]
    assert table.velocity[slot].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(table.held_velocity[slot]).all()
    assert table.body[slot] == -1
    assert table.physics[slot] == -1


def test_a_slot_that_is_used_again_remembers_nothing() -> None:
    table = ActorTable()
    table.add_actor(1, throttle=1.0, held_velocity=(1.0, 0.0, 0.0), body=4)
    table.remove_actor(1)
    slot = table.add_actor(2)
    assert table.throttle[slot] == 0.0
    assert np.isnan(table.held_velocity[slot]).all()
    assert table.body[slot] == -1


def test_an_unknown_column_and_a_known_id_are_refused() -> None:
    table = ActorTable()
    table.add_actor(1)
    with pytest.raises(ValueError, match="actor 1 exists"):
        table.add_actor(1)
    with pytest.raises(KeyError):
        table.add_actor(2, colour="red")
    with pytest.raises(KeyError):
        table.find_slot(3)


def test_columns_follow_additions_and_removals() -> None:
    """Against a plain dictionary, over a thousand random additions and removals."""
    rng = np.random.default_rng(1)
    table, expected = ActorTable(), dict[int, float]()
    for actor_id in range(1, 1001):
        mass = float(rng.uniform(1.0, 2.0))
        table.add_actor(actor_id, mass=mass, position=(mass, 0.0, 0.0))
        expected[actor_id] = mass
        if rng.random() < 0.45:
            gone = int(rng.choice(list(expected)))
            table.remove_actor(gone)
            del expected[gone]
            assert gone not in table
    assert len(table) == len(expected) == len(table.mass)
    for actor_id, mass in expected.items():
        slot = table.find_slot(actor_id)
        assert (table.id[slot], table.mass[slot], table.position[slot, 0]) == (actor_id, mass, mass)


def test_slots_of_a_kind_come_oldest_first() -> None:
    table = ActorTable()
    for actor_id, kind in (
        (1, ActorKind.PROP),
        (2, ActorKind.VEHICLE),
        (3, ActorKind.WALKER),
        (4, ActorKind.VEHICLE),
    ):
        table.add_actor(actor_id, kind=kind)
    table.remove_actor(1)
    assert table.id[table.list_slots(ActorKind.VEHICLE)].tolist() == [2, 4]
