import { linkHere } from '../../src/host/linking/local-linker.ts';
import { loadJavaScriptProgram } from '../../src/module/javascript/runner.ts';
import type { ModuleLogLine } from '../../src/module/log-line.ts';
import type { ModuleRunner, ReducerCall, RunOutcome } from '../../src/module/runner.ts';
import { openRealm } from '../../src/node/realm.ts';
import { moduleHooksKey } from '../../src/protocol/module-abi.ts';
import { catalogOf, emptyCatalog } from '../../src/schema/build-catalog.ts';
import type { Catalog } from '../../src/schema/catalog.ts';
import { decodeRawModule } from '../../src/schema/decode-raw-module.ts';
import { indexId, tableId } from '../../src/schema/ids.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { Store } from '../../src/store/store.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';

/** A loaded program beside a store, without the database around them. */
export interface ModuleUnderTest {
  readonly runner: ModuleRunner;
  readonly store: Store;
  readonly logs: ModuleLogLine[];
  /** Runs a reducer in a transaction of its own; commits it when it returned. */
  call(reducerId: number, call?: Partial<ReducerCall>): RunOutcome;
}

export const publishedMicros = 1_700_000_000_000_000n;
export const calledMicros = 1_800_000_000_123_456n;

/** Links and loads a program beside a store of `catalog`. */
export async function loadProgram(
  program: string | Uint8Array,
  catalog: Catalog = accountCatalog,
): Promise<ModuleUnderTest> {
  const bytes = typeof program === 'string' ? new TextEncoder().encode(program) : program;
  const store = new Store(catalog);
  const logs: ModuleLogLine[] = [];
  const runner = loadJavaScriptProgram(
    await linkHere(bytes),
    {
      store,
      databaseIdentity: databaseIdentity(0xdbn),
      log: (line) => logs.push(line),
      publishedMicros,
      monotonicMillis: () => performance.now(),
    },
    openRealm(),
  );
  const call = (reducerId: number, overrides: Partial<ReducerCall> = {}): RunOutcome => {
    const transaction = store.begin();
    const outcome = runner.callReducer({ ...anyCall, reducerId, ...overrides }, transaction);
    if (outcome.kind === 'returned') transaction.commit();
    else transaction.rollback();
    return outcome;
  };
  return { runner, store, logs, call };
}

/** Loads a program twice: to learn its definition, then beside a store made for it. */
export async function loadDescribed(program: Uint8Array): Promise<ModuleUnderTest> {
  const { runner } = await loadProgram(program, emptyCatalog);
  const definition = validateModule(decodeRawModule(runner.describe()));
  return loadProgram(program, catalogOf(definition));
}

const anyCall: ReducerCall = {
  reducerId: 0,
  reducerName: 'reducer_under_test',
  sender: callerIdentity(0x5e4dn),
  connectionId: connectionNumber(0xc0n),
  timestampMicros: calledMicros,
  args: new Uint8Array(0),
  seed: Uint8Array.from({ length: 32 }, (_, index) => index * 7),
  jwtPayload: '',
};

/**
 * A program of the raw boundary: `body` is the body of its only hook, with `sys`, `id`, `args` and
 * the other arguments of a call in scope; `top` runs while the program loads.
 */
export function rawProgram(body: string, top = ''): string {
  return `
class SenderError extends Error {}
const globalSys = {};
${top}
export default {
  [Symbol.for('${moduleHooksKey}')](namespace, sys) {
    globalSys.sys = sys;
    return {
      __describe_module__: () => new Uint8Array([1, 2, 3]),
      __call_reducer__(id, sender, connectionId, timestamp, args) {
${body}
      },
      __sender_error_class__: SenderError,
    };
  },
};
`;
}

/** Runs `body` as the only reducer of a program and returns its outcome and the log. */
export async function runRaw(
  body: string,
  top?: string,
): Promise<ModuleUnderTest & { outcome: RunOutcome; messages: string[] }> {
  const module = await loadProgram(rawProgram(body, top));
  const outcome = module.call(0);
  return { ...module, outcome, messages: module.logs.map(({ message }) => message) };
}

export const accountTableId = tableId(5_000);
export const accountIdIndex = indexId(5_001);
export const accountBalanceIndex = indexId(5_002);
export const accountSequence = 5_003;

/** One user table: `account(id: u32 key, generated; balance: i64, ordered)`, 12 bytes a row. */
export const accountCatalog: Catalog = {
  ...emptyCatalog,
  views: [],
  nextId: 6_000,
  tables: [
    ...emptyCatalog.tables,
    {
      id: accountTableId,
      name: 'account',
      sourceName: 'accountSource',
      kind: 'user',
      access: 'public',
      isEvent: false,
      columns: [
        { name: 'id', sourceName: 'id', type: { kind: 'u32' } },
        { name: 'balance', sourceName: 'balance', type: { kind: 'i64' } },
      ],
      primaryKey: 0,
      indexes: [
        {
          id: accountIdIndex,
          name: 'account_id_idx',
          sourceName: 'account_id_idx',
          algorithm: 'hash',
          columns: [0],
          isUnique: true,
        },
        {
          id: accountBalanceIndex,
          name: 'account_balance_idx',
          sourceName: 'account_balance_idx',
          algorithm: 'btree',
          columns: [1],
          isUnique: false,
        },
      ],
      constraints: [{ id: 5_004, name: 'account_id_key', columns: [0] }],
      derivedIndexes: [],
      sequences: [
        {
          id: accountSequence,
          name: 'account_id_seq',
          column: 0,
          start: 1n,
          minValue: 1n,
          maxValue: 4_294_967_295n,
          increment: 1n,
        },
      ],
    },
  ],
};

/** Guest text of small codecs for `account`. */
export const accountCodecs = `
const view = () => new DataView(globalSys.sys.scratch(0));
const TABLE = ${accountTableId};
const BY_ID = ${accountIdIndex};
const BY_BALANCE = ${accountBalanceIndex};
const put = (id, balance) => {
  view().setUint32(0, id, true);
  view().setBigInt64(4, balance, true);
  return globalSys.sys.insert(TABLE, 12);
};
const find = (id) => {
  view().setUint32(0, id, true);
  const length = globalSys.sys.find(BY_ID, 4);
  return length < 0 ? length : view().getBigInt64(4, true);
};
const change = (id, balance) => {
  view().setUint32(0, id, true);
  view().setBigInt64(4, balance, true);
  return globalSys.sys.update(TABLE, BY_ID, 12);
};
`;
