import { randomBytes } from 'node:crypto';
import type { Caller } from '../../database/outcome.ts';
import type { ExportError } from '../../database/transfer/export-ask.ts';
import { limits } from '../../limits.ts';
import type { RowFormat } from '../../transfer/row-table.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { exportBytes } from './export-stream.ts';
import {
  type ImportOrder,
  type ImportReport,
  ImportRun,
  type ImportRunError,
} from './import-run.ts';
import { rowTableOf } from './row-tables.ts';
import type { RowTexts } from './row-texts.ts';
import { untilAborted } from './until-aborted.ts';

export interface TransferOptions {
  readonly access: Access;
  readonly audit: AuditLog;
  readonly texts: RowTexts;
}

const stopping: ImportRunError = {
  code: 'import.busy',
  message: 'The service is stopping; go on with the import when it is back',
};

function endOf(fault: string | undefined): ImportRunError | undefined {
  if (fault === undefined) return undefined;
  return { code: 'import.revoked', message: `The import was stopped: ${fault}` };
}

type Target = DatabaseRecord & { readonly handle: DatabaseHandle };

/** The one who exports or imports, as the database sees it, and until when. */
export interface TransferCaller {
  readonly by: HostCaller;
  readonly caller: Caller;
  /** Why the caller may not go on, if that is so by now. */
  readonly fault: () => string | undefined;
}

export interface ExportRequest {
  /** Absent: all that the caller can read. */
  readonly tables: readonly string[] | undefined;
  readonly format: RowFormat;
}

export interface OpenExport {
  readonly position: string;
  readonly bytes: AsyncGenerator<Uint8Array, void>;
  /** Ends it, also if nothing of it was read; calling it again does nothing. */
  readonly close: () => void;
}

export type ExportAnswer = OpenExport | { readonly error: ExportError };

export interface ImportWish extends Omit<ImportOrder, 'importId'> {
  /** Absent: one is drawn. */
  readonly importId: string | undefined;
  readonly format: RowFormat;
  readonly ignoresUnknown: boolean;
  readonly firstLine: number | undefined;
}

export type ImportAnswer = ImportReport | { readonly refused: ImportRunError };

/** Exports and imports rows of databases, on behalf of callers who may. */
export class TransferControl {
  readonly #options: TransferOptions;
  /** Imports under way, by caller. */
  readonly #imports = new Map<bigint, number>();
  #importCount = 0;
  #heldBytes = 0;
  /** Aborted when the service stops. */
  readonly #stop = new AbortController();

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  async export(
    { by, caller, fault }: TransferCaller,
    database: Target,
    { tables, format }: ExportRequest,
  ): Promise<ExportAnswer> {
    const { access, texts } = this.#options;
    access.require(by, database, 'exportRows');
    const { handle } = database;
    const begun = await handle.export(caller, { kind: 'begin', tables });
    if (begun.kind === 'failed') return { error: begun.error };
    if (begun.kind !== 'begun') throw new Error('an export begins with its tables');
    const { types } = begun;
    const rowTables = begun.tables.map(({ name, columns }) => ({
      ...{ name, types },
      columns: columns.map(({ name: column = '', type }) => {
        return { name: column, sourceName: column, type, isSequence: false };
      }),
    }));
    const writer = await texts.write(rowTables, format);
    const bytes = exportBytes({ handle, caller, begun, writer, format, fault });
    const close = (): void => {
      void bytes.return();
      // A generator that was never asked for anything ends without a word.
      handle.export(caller, { kind: 'end', id: begun.id }).catch(() => undefined);
      writer.close();
    };
    return { position: begun.position, bytes, close };
  }

  async import(
    given: TransferCaller,
    database: Target,
    wish: ImportWish,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<ImportAnswer> {
    const { access, audit } = this.#options;
    const { by } = given;
    access.require(by, database, 'importRows');
    const busy = this.#enter(by.identity);
    if (busy !== undefined) return { refused: { code: 'import.busy', message: busy } };
    try {
      const answer = await this.#import(given, database, wish, pieces);
      if (!('refused' in answer)) {
        const { importId, imported, nextBatch } = answer;
        const detail = { table: wish.table, mode: wish.mode, importId, imported, nextBatch };
        const note = { action: 'import rows', caller: by, database: database.identity } as const;
        await audit.note({ ...note, outcome: 'done', detail });
      }
      return answer;
    } finally {
      this.#leave(by.identity);
    }
  }

  /** `close` comes soon: imports end with what they have. */
  hurry(): void {
    this.#stop.abort();
  }

  close(): Promise<void> {
    this.hurry();
    return this.#options.texts.close();
  }

  async #import(
    { caller, fault }: TransferCaller,
    { handle }: Target,
    wish: ImportWish,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<ImportAnswer> {
    const { definition, schemaVersion } = await handle.describe();
    const importId = wish.importId ?? randomBytes(16).toString('hex');
    const table = rowTableOf(definition, wish.table);
    if (table === undefined) return { refused: await this.#noTable(handle, caller, wish.table) };
    const { format, ignoresUnknown, skips, firstLine } = wish;
    const options = { table, format, ignoresUnknown, skips, firstLine };
    const reader = await this.#options.texts.read(options);
    let held = 0;
    const holds = (bytes: number): boolean => {
      this.#heldBytes += bytes - held;
      held = bytes;
      return this.#heldBytes <= limits.importHeldBytesMax;
    };
    const { signal } = this.#stop;
    const ending = (): ImportRunError | undefined => (signal.aborted ? stopping : endOf(fault()));
    try {
      const target = { handle, caller, schemaVersion, reader, ending, holds };
      return await new ImportRun({ ...wish, importId }, target).run(untilAborted(pieces, signal));
    } finally {
      holds(0);
      reader.close();
    }
  }

  /** The database knows what the name stands for, and whether the caller may know. */
  async #noTable(handle: DatabaseHandle, caller: Caller, table: string): Promise<ImportRunError> {
    const nothing = { rows: new Uint8Array(0), count: 0, skippedMax: 0, batch: 0 };
    const request = { caller, table, schemaVersion: 0, mode: 'insert', importId: '' } as const;
    const outcome = await handle.import({ ...request, ...nothing }, false);
    if (outcome.kind === 'failed') return outcome.error;
    throw new Error('a table that is not described takes no rows');
  }

  #enter(identity: bigint): string | undefined {
    const { importsMax, callerImportsMax } = limits;
    const own = this.#imports.get(identity) ?? 0;
    const advice = 'Try again when one of them has ended';
    if (own >= callerImportsMax) return `${own} of your imports are running already. ${advice}`;
    if (this.#importCount >= importsMax) {
      return `${importsMax} imports are running already. ${advice}`;
    }
    this.#imports.set(identity, own + 1);
    this.#importCount += 1;
    return undefined;
  }

  #leave(identity: bigint): void {
    const left = (this.#imports.get(identity) ?? 0) - 1;
    if (left === 0) this.#imports.delete(identity);
    else this.#imports.set(identity, left);
    this.#importCount -= 1;
  }
}
