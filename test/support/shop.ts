import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type {
  ArgumentsFault,
  Caller,
  CallOutcome,
  SqlOutcome,
} from '../../src/database/outcome.ts';
import type { ProgramSource } from '../../src/database/program-source.ts';
import { localLanes } from '../../src/host/lanes/local-lanes.ts';
import { KeptPrograms } from '../../src/host/linking/kept-programs.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import { type Budget, completeBudget } from '../../src/host/seats/budget.ts';
import { localPlacement } from '../../src/host/seats/local-placement.ts';
import type { Placement } from '../../src/host/seats/placement.ts';
import type { StampedLine } from '../../src/host/seats/seat.ts';
import { SupervisedDatabase } from '../../src/host/supervision/supervised-database.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { workerPlacement } from '../../src/host/workers/worker-placement.ts';
import type { ModuleLogLine } from '../../src/module/log-line.ts';
import { MachineClock } from '../../src/node/clock.ts';
import { MachineEntropy } from '../../src/node/entropy.ts';
import { ownerRights, strangerRights } from '../../src/sql/rights.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import type { ConnectionNumber } from '../../src/values/connection-number.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import {
  asCaller,
  callerIdentity,
  databaseIdentity,
  ownerIdentity,
} from '../../src/values/identity-roles.ts';
import type { Value } from '../../src/values/value.ts';
import { buildText } from './build-text.ts';

export interface CallSettings {
  /** Subject of the caller's token; `owner` owns the database. */
  readonly subject?: string;
  readonly confirmed?: boolean;
  readonly schemaVersion?: number;
  /** An open connection instead of a temporary one. */
  readonly open?: ConnectionNumber;
}

/** A database of the shop module behind a handle, with what a test wants to ask of it. */
export interface Shop {
  handle: SupervisedDatabase;
  build(text: string): Promise<ProgramSource>;
  caller(subject: string): Caller;
  call(
    reducer: string,
    args?: readonly Value[] | Uint8Array | ArgumentsFault,
    settings?: CallSettings,
  ): Promise<CallOutcome>;
  query(sql: string, settings?: CallSettings): Promise<SqlOutcome>;
  rows(sql: string, settings?: CallSettings): Promise<(readonly Value[])[]>;
  /** Texts of all items, by id. */
  texts(): Promise<Value[]>;
  /** Kind and token of all visits that the lifecycle reducers noted, by id. */
  visits(): Promise<Value[]>;
  lines(): ModuleLogLine[];
  messages(): string[];
  reports(): string[];
  /** Names of the files beside its log. */
  files(): string[];
  /** Closes the handle, if it is open, and opens the same database again. */
  reopen(): Promise<void>;
  /** Leaves the handle without closing it, as a killed process would. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

export type ShopOpener = (text: string) => Promise<Shop>;

/** Opens shops whose databases are on this machine's disk, in this thread or on workers. */
export function shopOpener(
  kind: 'local' | 'thread' | 'process',
  budget: Partial<Budget> = {},
): ShopOpener {
  const clock = new MachineClock();
  const entropy = new MachineEntropy();
  const complete = completeBudget(budget);
  const placement =
    kind === 'local'
      ? localPlacement({ clock, entropy, budget: complete, lanes: localLanes(complete) })
      : workerPlacement({
          budget: complete,
          clock,
          isolationOf: () => kind,
          usualIsolation: kind,
          report: () => undefined,
        });
  return (text) => openShop(text, placement);
}

const identity = databaseIdentity(0xdbn);
const owner = ownerIdentity(1n);

async function openShop(text: string, placement: Placement): Promise<Shop> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-shop-'));
  const directory = path.join(folder, 'log-1');
  mkdirSync(directory);
  const lines: StampedLine[] = [];
  const reports: string[] = [];
  const clock = new MachineClock();
  const programs = new KeptPrograms(path.join(folder, 'programs'));
  const examine = (program: ProgramSource) => placement.examine(program, { identity, programs });
  const supervise = (mode: ConstructorParameters<typeof SupervisedDatabase>[1]) =>
    new SupervisedDatabase(
      {
        identity,
        clock,
        hash: programHash,
        takeSeat: placement.seatsOf({
          identity,
          ownerIdentity: owner,
          generation: 1,
          directory,
          programs,
        }),
        examine,
        lines: (more) => lines.push(...more),
        report: (_, message) => reports.push(message),
        warn: (sentence) => reports.push(sentence),
      },
      mode,
    );
  const program = await buildText(text);
  const handle = supervise({ kind: 'create', program, createdMicros: clock.nowMicros() });
  const shop = new OpenShop(handle, lines, reports, {
    again: () => supervise({ kind: 'open', skipFirstDisconnect: false }),
    end: () => rmSync(folder, { recursive: true }),
    files: () => readdirSync(directory).sort(),
  });
  await handle.started();
  return shop;
}

interface ShopLife {
  readonly again: () => SupervisedDatabase;
  readonly end: () => void;
  readonly files: () => string[];
}

class OpenShop implements Shop {
  handle: SupervisedDatabase;
  readonly #lines: StampedLine[];
  readonly #reports: string[];
  readonly #life: ShopLife;

  constructor(handle: SupervisedDatabase, lines: StampedLine[], reports: string[], life: ShopLife) {
    this.handle = handle;
    this.#lines = lines;
    this.#reports = reports;
    this.#life = life;
  }

  build = buildText;

  caller = (subject: string): Caller => {
    const isOwner = subject === 'owner';
    const jwtPayload = JSON.stringify({ iss: 'test', sub: subject });
    const number = BigInt(subject.length) + 1000n;
    const rights = isOwner ? ownerRights : strangerRights;
    return { identity: isOwner ? asCaller(owner) : callerIdentity(number), rights, jwtPayload };
  };

  call = async (
    reducer: string,
    args: readonly Value[] | Uint8Array | ArgumentsFault = [],
    settings: CallSettings = {},
  ): Promise<CallOutcome> => {
    const { definition, schemaVersion } = await this.handle.describe();
    const params = definition.reducers.find(({ name }) => name === reducer)?.params;
    const encoded =
      args instanceof Uint8Array || 'fault' in args
        ? args
        : encodeValue(params ?? { kind: 'product', elements: [] }, args, definition.typespace);
    return this.handle.call({
      ...this.#asked(settings),
      reducer,
      args: encoded,
      schemaVersion: settings.schemaVersion ?? schemaVersion,
    });
  };

  query = (sql: string, settings: CallSettings = {}): Promise<SqlOutcome> =>
    this.handle.query({ ...this.#asked(settings), sql });

  rows = async (sql: string, settings: CallSettings = {}): Promise<(readonly Value[])[]> => {
    const outcome = await this.query(sql, settings);
    if (outcome.kind === 'failed') throw new Error(outcome.error.message);
    const decode = decoderOf({ kind: 'product', elements: outcome.columns });
    const reader = new BinaryReader(outcome.rows);
    return Array.from({ length: outcome.rowCount }, () => decode(reader) as readonly Value[]);
  };

  texts = async (): Promise<Value[]> => {
    const rows = (await this.rows('SELECT id, text FROM item')) as [bigint, string][];
    return rows.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  };

  visits = async (): Promise<Value[]> => {
    const rows = (await this.rows('SELECT id, kind, token FROM visit')) as [bigint, Value, Value][];
    return rows.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, ...visit]) => visit);
  };

  lines = (): ModuleLogLine[] => this.#lines.map(({ line }) => line);

  messages = (): string[] => this.lines().map(({ message }) => message);

  reports = (): string[] => this.#reports;

  files = (): string[] => this.#life.files();

  reopen = async (): Promise<void> => {
    await this.handle.close();
    this.handle = this.#life.again();
    await this.handle.started();
  };

  crash = async (): Promise<void> => {
    this.handle.crash();
    await this.handle.close();
  };

  close = async (): Promise<void> => {
    await this.handle.close();
    this.#life.end();
  };

  #asked({ subject = 'owner', confirmed = true, open }: CallSettings) {
    const temporary = temporaryConnection();
    const connection = open === undefined ? temporary : ({ kind: 'open', id: open } as const);
    return { caller: this.caller(subject), connection, confirmed };
  }
}
