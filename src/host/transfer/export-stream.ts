import { createHash } from 'node:crypto';
import { type Caller, Refusal } from '../../database/outcome.ts';
import type { ExportOutcome } from '../../database/transfer/export-ask.ts';
import { frameLine } from '../../transfer/export-frame.ts';
import type { RowFormat } from '../../transfer/row-table.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import type { TextWriter } from './row-texts.ts';
import { RowTextError } from './row-thread.ts';

export type BegunExport = Extract<ExportOutcome, { kind: 'begun' }>;

export interface StreamedExport {
  readonly handle: DatabaseHandle;
  readonly caller: Caller;
  readonly begun: BegunExport;
  readonly writer: TextWriter;
  readonly format: RowFormat;
  /** Why the caller may not go on, if that is so by now. */
  readonly fault: () => string | undefined;
}

/**
 * The bytes of an export, as they are wanted: while the next rows are read, the last ones are
 * written as text. What goes wrong is its last line, in place of the end.
 */
export async function* exportBytes(given: StreamedExport): AsyncGenerator<Uint8Array, void> {
  const blocks = new Blocks(given);
  const { handle, caller, begun, writer, fault } = given;
  const read = () => handle.export(caller, { kind: 'read', id: begun.id });
  let isOver = begun.tables.length === 0;
  try {
    let next = isOver ? undefined : read();
    while (next !== undefined) {
      const outcome = await next;
      const lost = fault();
      if (lost !== undefined || outcome.kind !== 'rows') {
        yield blocks.error(lost ?? messageOf(outcome));
        return;
      }
      isOver = outcome.isLast;
      next = isOver ? undefined : read();
      // Somebody waits for it in any case.
      next?.catch(() => undefined);
      yield* blocks.rows(outcome);
    }
    yield blocks.end();
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof RowTextError)) throw error;
    yield blocks.error(error.message);
  } finally {
    writer.close();
    // A database that cannot be reached has forgotten it.
    if (!isOver) handle.export(caller, { kind: 'end', id: begun.id }).catch(() => undefined);
  }
}

function messageOf(outcome: ExportOutcome): string {
  return outcome.kind === 'failed' ? outcome.error.message : 'The export has ended already';
}

/** Makes the blocks and counts what is in them. */
class Blocks {
  readonly #given: StreamedExport;
  readonly #hash = createHash('sha256');
  readonly #counts: number[];
  /** Tables that have had a block. */
  #shownCount = 0;

  constructor(given: StreamedExport) {
    this.#given = given;
    this.#counts = given.begun.tables.map(() => 0);
  }

  async *rows(outcome: Extract<ExportOutcome, { kind: 'rows' }>): AsyncGenerator<Uint8Array, void> {
    const { table, rows, count, isLast } = outcome;
    for (let at = this.#shownCount; at < table; at += 1) yield await this.#block(at, none, 0);
    if (count > 0) yield await this.#block(table, rows, count);
    if (!isLast) return;
    const { tables } = this.#given.begun;
    for (let at = this.#shownCount; at < tables.length; at += 1) {
      yield await this.#block(at, none, 0);
    }
  }

  end(): Uint8Array {
    const { tables, position, programHash: program } = this.#given.begun;
    const counts = Object.fromEntries(tables.map(({ name }, at) => [name, this.#counts[at] ?? 0]));
    const sha256 = this.#hash.digest('hex');
    return Buffer.from(frameLine({ end: true, counts, sha256, position, program }));
  }

  error(message: string): Uint8Array {
    return Buffer.from(frameLine({ error: message }));
  }

  async #block(table: number, rows: Uint8Array, count: number): Promise<Uint8Array> {
    const { begun, writer } = this.#given;
    const isFirst = table >= this.#shownCount;
    this.#shownCount = table + 1;
    const text = await writer.write({ table, rows, count, isFirst });
    this.#counts[table] = (this.#counts[table] ?? 0) + count;
    const name = begun.tables[table]?.name ?? '';
    const line = Buffer.from(frameLine({ table: name, rows: count, bytes: text.length }));
    const block = Buffer.concat([line, text]);
    this.#hash.update(block);
    return block;
  }
}

const none = new Uint8Array(0);
