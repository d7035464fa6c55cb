import type { ModuleDefinition } from '../../schema/definition.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { hasSchedules, type ScheduleState } from '../supervision/schedule-state.ts';
import type { Registry } from './registry.ts';

/**
 * What the registry knows of the schedules of databases. A database that has some is opened by the
 * start, as no request may ever come to it. A pause of all its schedules is kept here, and so
 * outlives a reset.
 */
export class KnownSchedules {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  stateOf(database: DatabaseIdentity): ScheduleState {
    return this.#registry.schedulesOf(database);
  }

  /** Notes that a database, which may not be registered yet, has schedules. */
  async expect(database: DatabaseIdentity): Promise<void> {
    await this.#change(database, (state) => ({ ...state, exist: true }));
  }

  /** Notes whether the program that a registered database runs has schedules. */
  async note(database: DatabaseIdentity, definition: ModuleDefinition): Promise<void> {
    const exist = hasSchedules(definition);
    await this.#change(database, (state) => {
      return this.#registry.database(database) === undefined ? state : { ...state, exist };
    });
  }

  /** Keeps all schedules of a database from running, or lets them run. */
  async setPaused(database: DatabaseIdentity, isPaused: boolean): Promise<void> {
    await this.#change(database, (state) => ({ ...state, isPaused }));
  }

  async #change(
    database: DatabaseIdentity,
    next: (state: ScheduleState) => ScheduleState,
  ): Promise<void> {
    const registry = this.#registry;
    await registry.exclusively(async () => {
      const before = registry.schedulesOf(database);
      const after = next(before);
      if (before.exist === after.exist && before.isPaused === after.isPaused) return;
      await registry.putSchedules(database, after);
    });
  }
}
