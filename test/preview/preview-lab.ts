import { expect } from 'vitest';
import { querySetId } from '../../src/database/live/set-id.ts';
import type { RequestConnection } from '../../src/database/outcome.ts';
import type {
  Preview,
  PreviewedTable,
  PreviewedWork,
  PreviewOutcome,
} from '../../src/database/preview-outcome.ts';
import { encodeArguments, functionOf } from '../../src/doors/json-call.ts';
import type { LiveConnection, LiveEvent } from '../../src/host/feeds/live-connection.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { type RowSet, rowCountOf } from '../../src/live/row-set.ts';
import type { RowList } from '../../src/store/change-set.ts';
import { Random } from '../../src/testing/random.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { parseJson } from '../../src/values/json.ts';
import { decodedRows, previewIn } from '../support/previewed.ts';
import type { Shop, ShopOpener } from '../support/shop.ts';
import { valueText } from '../support/value-text.ts';
import { type Op, opKinds, randomModule, randomOps, randomWrite } from './random-module.ts';

/** What a run came to; a run that never gets somewhere proves nothing about it. */
export interface LabReport {
  previews: number;
  failed: number;
  changed: number;
  applied: number;
  differed: number;
}

/** The connection by which the lab looks. */
const looking: RequestConnection = { kind: 'open', id: connectionNumber(77n) };

/**
 * Previews random calls and statements upon a random module, and holds each against what is so
 * before and after: a preview leaves everything as it was, what is applied changes what was told,
 * and what would come to something else by now is not done.
 */
export async function runPreviewLab(
  open: ShopOpener,
  seed: number,
  steps: number,
): Promise<LabReport> {
  const random = new Random(seed);
  const module = randomModule(random);
  const shop = await open(module.text);
  const lab = new PreviewLab(shop, random, module.tables);
  try {
    await lab.begin();
    for (let step = 0; step < steps; step += 1) await lab.step();
    return lab.report;
  } finally {
    lab.end();
    await shop.close();
  }
}

class PreviewLab {
  readonly report: LabReport = { previews: 0, failed: 0, changed: 0, applied: 0, differed: 0 };
  readonly #shop: Shop;
  readonly #random: Random;
  readonly #tables: Tables;
  readonly #events: LiveEvent[] = [];
  #live: LiveConnection | undefined;

  constructor(shop: Shop, random: Random, tables: Tables) {
    this.#shop = shop;
    this.#random = random;
    this.#tables = tables;
  }

  async begin(): Promise<void> {
    const { handle, caller } = this.#shop;
    await handle.connect(caller('owner'), looking.id);
    const options = {
      caller: caller('owner'),
      connectionId: connectionNumber(78n),
      confirmed: false,
    };
    this.#live = handle.live(options, {
      deliver: (events) => this.#events.push(...events),
      ended: () => undefined,
    });
    const names = ['ev', 'large', ...this.#tables.map(({ name }) => name)];
    const queries = names.map((name) => `SELECT * FROM ${name}`);
    const setId = querySetId(1);
    this.#live.send({ kind: 'subscribe', requestId: 1, setId, queries, knowsEvents: true });
    const isSubscribed = () => this.#events.some(({ kind }) => kind === 'subscribed');
    await expect.poll(isSubscribed, { timeout: 20_000 }).toBe(true);
  }

  end(): void {
    this.#live?.close();
  }

  async step(): Promise<void> {
    const { work, isFixed } = await this.#someWork();
    const preview = await this.#preview(work);
    if (!isOfSuccess(preview)) {
      this.report.failed += 1;
      expect(preview.changes).toEqual([]);
      await this.#expectNothing(() => this.#apply(work, preview));
      return;
    }
    if (preview.changes.length > 0) this.report.changed += 1;
    if (isFixed) expect((await this.#preview(work)).changes).toEqual(preview.changes);
    const next = this.#random.fraction();
    if (next < 0.3) {
      expect(await this.#applyAndCompare(work, preview)).toBe('applied');
    } else if (next < 0.7) {
      await this.#disturb();
      await this.#applyAndCompare(work, preview);
    } else if (next < 0.9 && isFixed) {
      const before = await this.#rows();
      await this.#run(work);
      expectChanges(preview, before, await this.#rows());
    }
  }

  async #someWork(): Promise<{ work: PreviewedWork; isFixed: boolean }> {
    const random = this.#random;
    const connection = random.chance(0.5) ? temporaryConnection() : looking;
    const asked = { caller: this.#shop.caller('owner'), connection, confirmed: false };
    if (random.chance(0.35)) {
      const sql = randomWrite(random, this.#tables);
      return { work: { kind: 'query', query: { ...asked, sql } }, isFixed: true };
    }
    const ops = randomOps(random, this.#tables);
    const description = await this.#shop.handle.describe();
    const run = functionOf(description, 'reducer', 'run');
    const args = 'fault' in run ? run : encodeArguments(run, [parseJson(JSON.stringify(ops))]);
    const { schemaVersion } = description;
    const call = { ...asked, reducer: 'run', args, schemaVersion };
    return { work: { kind: 'call', call }, isFixed: ops.every(isFixedOp) };
  }

  /** Previews, and has a look at whether that changed anything. */
  async #preview(work: PreviewedWork): Promise<Preview> {
    const before = await this.#trace();
    const outcome = await this.#shop.handle.preview({ work });
    this.report.previews += 1;
    expect(outcome.kind).toBe('previewed');
    expect(await this.#trace()).toEqual(before);
    const preview = previewIn(outcome);
    expect(preview).toMatchObject({ isComplete: true, droppedLines: 0, offset: before.offset });
    return preview;
  }

  async #applyAndCompare(work: PreviewedWork, preview: Preview): Promise<PreviewOutcome['kind']> {
    const before = await this.#rows();
    const eventCount = this.#events.length;
    const outcome = await this.#apply(work, preview);
    const after = await this.#rows();
    if (outcome.kind === 'applied') {
      this.report.applied += 1;
      expectChanges(preview, before, after);
      expectTold(preview, this.#events.slice(eventCount));
      expect(outcome.preview.result).toEqual(preview.result);
      expect(outcome.preview.changes).toEqual(preview.changes);
    } else {
      this.report.differed += 1;
      expect(outcome.kind).toBe('differs');
      const other = previewIn(outcome);
      expect(other.key.digest).not.toEqual(preview.key.digest);
      expect(after).toEqual(before);
      if (isOfSuccess(other)) expect(await this.#applyAndCompare(work, other)).toBe('applied');
    }
    return outcome.kind;
  }

  #apply(work: PreviewedWork, { key }: Preview): Promise<PreviewOutcome> {
    return this.#shop.handle.preview({ work, apply: key });
  }

  async #expectNothing(apply: () => Promise<PreviewOutcome>): Promise<void> {
    const before = await this.#rows();
    expect((await apply()).kind).toBe('differs');
    expect(await this.#rows()).toEqual(before);
  }

  /** What others do between a preview and its being applied. */
  async #disturb(): Promise<void> {
    for (let at = 0; at < 3; at += 1) await this.#run((await this.#someWork()).work);
  }

  async #run(work: PreviewedWork): Promise<void> {
    const { handle } = this.#shop;
    if (work.kind === 'call') await handle.call(work.call);
    else await handle.query(work.query);
  }

  /** All that anybody could learn of what has happened. */
  async #trace() {
    const { offset, callsCommitted, callsAborted, querySets } = this.#shop.handle.statistics();
    return {
      ...{ offset, callsCommitted, callsAborted, querySets },
      events: this.#events.length,
      lines: this.#shop.lines().length,
      rows: await this.#rows(),
      visits: await this.#rowsOf('visit'),
      sequences: await this.#rowsOf('st_sequence'),
      clients: await this.#rowsOf('st_client'),
    };
  }

  /** The rows of each table, in the order in which they are stored. */
  async #rows(): Promise<Record<string, string[]>> {
    const rows: Record<string, string[]> = {};
    for (const { name } of this.#tables) rows[name] = await this.#rowsOf(name);
    return rows;
  }

  async #rowsOf(table: string): Promise<string[]> {
    const rows = await this.#shop.rows(`SELECT * FROM ${table}`, { open: looking.id });
    return rows.map(valueText);
  }
}

type Tables = ReturnType<typeof randomModule>['tables'];

function isFixedOp({ kind }: Op): boolean {
  return kind !== opKinds.random && kind !== opKinds.timed;
}

function isOfSuccess({ result }: Preview): boolean {
  return result.kind === 'returned' || result.kind === 'wrote';
}

function expectChanges(
  { changes }: Preview,
  before: Record<string, string[]>,
  after: Record<string, string[]>,
): void {
  const told = Object.fromEntries(
    changes.filter(({ isEvent }) => !isEvent).map((one) => [one.table, changedRows(one)]),
  );
  const found = Object.keys(before).flatMap((table) => {
    const [had, has] = [before[table] ?? [], after[table] ?? []];
    const inserts = has.filter((row) => !had.includes(row)).sort();
    const deletes = had.filter((row) => !has.includes(row)).sort();
    return inserts.length + deletes.length === 0 ? [] : [[table, { inserts, deletes }] as const];
  });
  expect(told).toEqual(Object.fromEntries(found));
}

/** Whoever watches the tables is told of exactly that. */
function expectTold({ changes }: Preview, events: readonly LiveEvent[]): void {
  const sets = events.flatMap((event) => (event.kind === 'updated' ? event.sets : []));
  const updates = sets.flatMap(({ updates }) => updates);
  const told = changes.map((change) => {
    const { table, columns } = change;
    const decode = decoderOf({ kind: 'product', elements: columns });
    const texts = (rows: RowSet): string[] =>
      decodedRows({ bytes: rows.data, count: rowCountOf(rows) }, decode).map(valueText);
    const mine = updates.filter((update) => update.table === table).flatMap((one) => one.changes);
    const inserts = mine.flatMap((one) => texts(one.kind === 'event' ? one.events : one.inserts));
    const deletes = mine.flatMap((one) => (one.kind === 'event' ? [] : texts(one.deletes)));
    // The connection of the request tells of itself, too.
    const isOfWork = (row: string) => !row.includes('"came"');
    return [table, { inserts: inserts.filter(isOfWork).sort(), deletes: deletes.sort() }];
  });
  expect(told).toEqual(changes.map((change) => [change.table, changedRows(change)]));
  const others = updates.filter(({ table }) => !changes.some((one) => one.table === table));
  expect(others.filter(({ table }) => table !== 'large' && table !== 'ev')).toEqual([]);
}

function changedRows(change: PreviewedTable): { inserts: string[]; deletes: string[] } {
  const decode = decoderOf({ kind: 'product', elements: change.columns });
  const texts = (rows: RowList): string[] => decodedRows(rows, decode).map(valueText).sort();
  return { inserts: texts(change.inserts), deletes: texts(change.deletes) };
}
