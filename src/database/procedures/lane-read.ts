import { limits } from '../../limits.ts';
import { laneCodes } from '../../module/lane.ts';
import type { Table } from '../../store/table.ts';
import type { TablePin } from '../../store/table-pin.ts';
import type { DatabaseCore } from '../core.ts';
import { LaneData } from './data-server.ts';
import type { DataServer } from './lane-desk.ts';
import { type Answer, announceLending, type WriteRequest } from './lane-transaction.ts';

/**
 * A read of a procedure: it sees the rows of one offset. One that ends at once pins nothing; any
 * other goes on from pins, between the turns, while others write.
 */
export class LaneRead {
  readonly #core: DatabaseCore;
  readonly #data: LaneData;
  #pins: ReadonlyMap<Table, TablePin> | undefined;
  /** True once it sees nothing any more: others have changed too much. */
  #isLost = false;

  constructor(core: DatabaseCore) {
    this.#core = core;
    this.#data = new LaneData(core.store);
    this.#data.calls.beginRead();
  }

  /** Serves it for a moment; `undefined`: it goes on. */
  serve(request: WriteRequest): Answer | 'gone' | undefined {
    const { clock, progress } = this.#core;
    this.#loseRevoked();
    announceLending(progress);
    const end = request.serve(this.#serve, clock.monotonicMillis() + limits.procedureReadMillis);
    if (end === 'late') {
      this.#pin();
      return undefined;
    }
    this.dispose();
    if (end === 'gone') return 'gone';
    if (!this.#isLost) return () => request.answer(0, '');
    return () => request.answer(laneCodes.failed, lostText);
  }

  /** Releases what it holds. */
  dispose(): void {
    this.#data.calls.end();
    for (const pin of this.#pins?.values() ?? []) pin.release();
    this.#pins = undefined;
  }

  readonly #serve: DataServer = (...call) =>
    this.#isLost ? laneCodes.failed : this.#data.serve(...call);

  /** Pins are revoked by writes, so never while the read is served. */
  #loseRevoked(): void {
    for (const { isValid } of this.#pins?.values() ?? []) if (!isValid) this.#isLost = true;
    if (this.#isLost) this.dispose();
  }

  /** Nothing was written since it began, so all tables are as of one offset. */
  #pin(): void {
    if (this.#pins !== undefined || this.#isLost) return;
    const pins = new Map<Table, TablePin>();
    for (const table of this.#core.store.tables) {
      if (table.spec.kind === 'user' && !table.spec.isEvent) pins.set(table, table.pin());
    }
    this.#pins = pins;
    this.#data.calls.readFrom(pins);
  }
}

const lostText =
  'The read was stopped, because too much was changed or the database was published again ' +
  'while it went on. Try again, or read less at once';
