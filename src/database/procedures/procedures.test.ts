import { describe, expect, it, vi } from 'vitest';
import {
  InlineDesk,
  type LaneAnswer,
  type LaneBody,
  transactionIn,
} from '../../../test/support/inline-desk.ts';
import {
  accountArgs,
  LaneAccounts,
  openProcedures,
  owner,
  procedureParams,
  reducerIds,
  u32Value,
} from '../../../test/support/procedure-database.ts';
import { limits } from '../../limits.ts';
import type { ReducerCall } from '../../module/runner.ts';
import { nextTurn } from '../../node/next-turn.ts';
import { errorCodes } from '../../protocol/module-abi.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { decodeValue } from '../../values/decode.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { querySetId } from '../live/set-id.ts';
import type { ProcedureOutcome } from '../outcome.ts';

const u32 = { kind: 'u32' } as const;

function returned(outcome: ProcedureOutcome): unknown {
  if (outcome.kind === 'failed') throw new Error(JSON.stringify(outcome.error));
  return decodeValue(u32, outcome.value);
}

function inputOf(args: Uint8Array): number {
  return Number((decodeValue(procedureParams, args) as number[])[0]);
}

/** Returns what it was given. */
const echo: LaneBody = ({ args }) => returning(u32Value(inputOf(args)));

function* returning(result: Uint8Array): ReturnType<LaneBody> {
  yield { kind: 'wait', until: Promise.resolve() };
  return result;
}

/** Puts its input into account 1, and returns what the transaction was answered. */
const deposit: LaneBody = function* ({ args }) {
  const answer = transactionIn(
    yield {
      kind: 'write',
      run: (data) => {
        new LaneAccounts(data).put(1, inputOf(args));
        return 'commit';
      },
    },
  );
  if (answer.code !== 0) throw new Error(answer.failure);
  return u32Value(inputOf(args));
};

/** Waits until `gate` is open. */
function waiting(gate: Promise<unknown>): LaneBody {
  return function* () {
    yield { kind: 'wait', until: gate };
    return u32Value(1);
  };
}

function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('a procedure call', () => {
  it('[living 2.9] returns its value, within a connection of its own', async () => {
    const ran: string[] = [];
    const { database } = await openProcedures(
      { echo },
      { ran: ({ reducerName }) => ran.push(reducerName) },
    );
    const outcome = await database.procedure('echo', 42);
    expect(returned(outcome)).toBe(42);
    expect(ran).toEqual(['init', 'entered', 'left']);
    expect(database.clientCount).toBe(0);
  });

  it('[living 2.9] is refused where it is unknown, private, read-only or misspelled', async () => {
    const { database } = await openProcedures({ echo, hidden: echo });
    const caller = {
      ...owner,
      rights: { ...owner.rights, callsPrivateReducers: false, key: 'stranger' },
    };
    const readOnly = { ...owner, rights: { ...owner.rights, isReadOnly: true } };
    const listed = { ...owner, rights: { ...owner.rights, reducers: new Set(['put']) } };
    const codes = async (...args: Parameters<typeof database.procedure>) => {
      const outcome = await database.procedure(...args);
      return outcome.kind === 'failed' ? outcome.error : outcome.kind;
    };
    expect(await codes('nothing')).toEqual({ code: 'procedure.unknown', procedure: 'nothing' });
    expect(await codes('hidden', 1, { caller })).toMatchObject({ code: 'procedure.unknown' });
    expect(await codes('echo', 1, { caller: listed })).toMatchObject({ code: 'procedure.unknown' });
    expect(await codes('hidden', 1)).toBe('returned');
    expect(await codes('echo', 1, { caller: readOnly })).toMatchObject({ code: 'call.readOnly' });
    expect(await codes('echo', new Uint8Array(2))).toMatchObject({
      code: 'arguments.invalid',
      message: expect.stringMatching(/^invalid arguments for procedure echo: /),
    });
    expect(await codes('echo', 1, { schemaVersion: 99 })).toEqual({ code: 'schema.changed' });
    expect(database.lines.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('call nonexistent procedure "nothing" failed.'),
        expect.stringContaining('call procedure "echo" failed, invalid arguments.'),
      ]),
    );
    expect(database.clientCount).toBe(0);
  });

  it('[living 2.9] fails with what it threw, which is in the log of the module', async () => {
    const { database } = await openProcedures({
      broken: () => {
        throw new Error('broken pipe');
      },
    });
    expect(await database.procedure('broken')).toMatchObject({
      kind: 'failed',
      error: { code: 'procedure.failed', message: 'broken pipe' },
    });
    expect(database.lines).toMatchObject([
      { level: 'panic', message: 'broken pipe', functionName: 'broken' },
    ]);
  });

  it('[living 2.9] fails when its value is not of the declared type, or too large', async () => {
    const { database } = await openProcedures({
      short: () => returning(new Uint8Array(3)),
      huge: () => returning(new Uint8Array(limits.callResultBytesMax + 1)),
    });
    for (const name of ['short', 'huge']) {
      expect(await database.procedure(name)).toMatchObject({
        error: { code: 'procedure.failed', message: expect.stringContaining(`procedure ${name}`) },
      });
    }
  });

  it('[living 2.6] is one of 64 of its caller, and of 1,024 of the database', async () => {
    const { opened, open: release } = gate();
    const { database } = await openProcedures({ wait: waiting(opened) });
    const perCaller = limits.callerProceduresMax;
    const callers = limits.proceduresMax / perCaller;
    const callOf = (identity: number) =>
      database.procedure('wait', 0, {
        caller: { ...owner, identity: callerIdentity(BigInt(identity)) },
      });
    const running = Array.from({ length: perCaller }, () => callOf(1));
    expect(await callOf(1)).toMatchObject({ error: { code: 'procedure.busy', of: 'caller' } });
    for (let caller = 2; caller <= callers; caller++) {
      running.push(...Array.from({ length: perCaller }, () => callOf(caller)));
    }
    expect(await callOf(99)).toMatchObject({ error: { code: 'procedure.busy', of: 'database' } });
    release();
    for (const outcome of await Promise.all(running)) expect(returned(outcome)).toBe(1);
    expect(returned(await callOf(1))).toBe(1);
  });

  it('[living 2.6] is refused when too many wait for a lane', async () => {
    const { opened, open: release } = gate();
    const bodies = { wait: waiting(opened) };
    const desk = new InlineDesk(bodies, { lanesMax: 1, queueMax: 1 });
    const { database } = await openProcedures(bodies, {}, desk);
    const running = [database.procedure('wait'), database.procedure('wait')];
    expect(await database.procedure('wait')).toMatchObject({
      error: { code: 'procedure.busy', of: 'database' },
    });
    release();
    expect((await Promise.all(running)).map(returned)).toEqual([1, 1]);
    expect(database.clientCount).toBe(0);
  });

  it('[living 2.8] is dropped while it waits for a lane when its caller is gone', async () => {
    const { opened, open: release } = gate();
    const bodies = { wait: waiting(opened), echo };
    const desk = new InlineDesk(bodies, { lanesMax: 1 });
    const { database } = await openProcedures(bodies, {}, desk);
    const first = database.procedure('wait');
    const second = database.procedure('echo');
    const of = database.lastTicket;
    expect(await database.request({ kind: 'cancel', of, why: 'gone' })).toEqual({
      kind: 'cancelled',
    });
    expect(await second).toMatchObject({ error: { code: 'procedure.stopped' } });
    release();
    expect(returned(await first)).toBe(1);
    expect(desk.cancelled).toEqual([2]);
  });

  it('[living 2.8] is cancelled when its connection ends', async () => {
    const { opened, open: release } = gate();
    const { database, desk } = await openProcedures({ wait: waiting(opened) });
    const id = connectionNumber(5n);
    await database.request({ kind: 'connect', caller: owner, connectionId: id });
    const running = database.procedure('wait', 0, { connection: { kind: 'open', id } });
    await database.request({ kind: 'disconnect', connectionId: id });
    expect(desk.cancelled).toEqual([1]);
    release();
    expect(returned(await running)).toBe(1);
  });

  it('[living 2.8] ends before its database closes, or is stopped', async () => {
    const { opened, open: release } = gate();
    const { database, desk } = await openProcedures({ wait: waiting(opened), deposit });
    const running = database.procedure('wait');
    while (desk.running.length === 0) await nextTurn();
    const closed = database.database.close();
    release();
    expect(returned(await running)).toBe(1);
    await closed;
    expect(desk.isStopped).toBe(true);

    const never = await openProcedures({ wait: waiting(new Promise(() => undefined)) });
    const stopped = never.database.procedure('wait');
    while (never.desk.running.length === 0) await nextTurn();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const closing = never.database.database.close();
      await vi.advanceTimersByTimeAsync(limits.procedureStopMillis);
      expect(await stopped).toMatchObject({ error: { code: 'procedure.stopped' } });
      await closing;
    } finally {
      vi.useRealTimers();
    }
    expect(never.database.clientCount).toBe(0);
  });
});

describe('a transaction of a procedure', () => {
  it('[living 2.3] commits, and is answered when its record is written', async () => {
    const { database, desk } = await openProcedures({ deposit });
    const unwritten: boolean[] = [];
    desk.beforeAnswer = () => unwritten.push(database.core.log.hasUnwritten);
    expect(returned(await database.procedure('deposit', 5))).toBe(5);
    expect(unwritten).toEqual([false]);
    expect(database.accounts()).toEqual(new Map([[1, 5]]));
  });

  it('[living 2.3] aborts, and sees the violation of a unique constraint', async () => {
    let violation = '';
    let code = 0;
    const { database } = await openProcedures({
      *twice() {
        yield {
          kind: 'write',
          run: (data) => {
            const accounts = new LaneAccounts(data);
            accounts.insert(1, 1);
            code = accounts.insert(1, 2);
            violation = accounts.violation();
            return 'abort';
          },
        };
        return u32Value(0);
      },
    });
    expect(returned(await database.procedure('twice'))).toBe(0);
    expect(code).toBe(-errorCodes.uniqueViolation);
    expect(JSON.parse(violation)).toMatchObject({ table: 'account', columns: ['id'] });
    expect(database.accounts().size).toBe(0);
  });

  it('[living 2.3] has a time that is never before that of an earlier commit', async () => {
    let micros = 1_000_000n;
    const clock = { nowMicros: () => micros, monotonicMillis: () => performance.now() };
    const times: (bigint | undefined)[] = [];
    const body: LaneBody = function* () {
      for (let at = 0; at < 2; at++) {
        times.push(transactionIn(yield { kind: 'write', run: () => 'commit' }).timestampMicros);
        micros -= 500_000n;
      }
      return u32Value(0);
    };
    const { database } = await openProcedures({ body }, { clock });
    const outcome = await database.procedure('body');
    expect(times).toEqual([1_000_000n, 1_000_000n]);
    expect(outcome).toMatchObject({ timestampMicros: 1_000_000n });
  });

  it('[living 2.3] is aborted when it is open for too long, and its lane ends', async () => {
    let until = 0;
    const clock = { nowMicros: () => 1n, monotonicMillis: () => 50 };
    const { database, desk } = await openProcedures(
      {
        *slow() {
          yield {
            kind: 'write',
            run: (data, untilMillis) => {
              until = untilMillis;
              new LaneAccounts(data).put(1, 1);
              return 'late';
            },
          };
          return u32Value(0);
        },
        echo,
      },
      { clock },
    );
    const outcome = await database.procedure('slow');
    const text = 'The transaction of `slow` was open for longer than 1000 ms and was aborted';
    expect(outcome).toMatchObject({ error: { code: 'procedure.overBudget', message: text } });
    expect(database.lines).toMatchObject([{ message: text, functionName: 'slow' }]);
    expect(database.accounts().size).toBe(0);
    expect(returned(await database.procedure('echo', 3))).toBe(3);
    expect(until).toBe(50 + limits.procedureTransactionMillis);
    expect(desk.running).toEqual([]);
  });

  it('[living 2.3] reaches subscribers without a reducer, and is named in the log', async () => {
    const { database } = await openProcedures({ deposit });
    const connectionId = connectionNumber(5n);
    const connection = { caller: owner, connectionId };
    await database.request({ kind: 'connect', ...connection });
    const queries = ['SELECT * FROM account'];
    const subscribe = { setId: querySetId(1), queries, knowsEvents: true };
    await database.request({ kind: 'subscribe', connection, subscribe });
    const append = vi.spyOn(database.core.log, 'appendCommit');
    await database.procedure('deposit', 5);
    expect(database.commits).toMatchObject([{ kind: 'committed', caller: undefined }]);
    expect(append.mock.calls.map(([, { reducer, args }]) => [reducer, args.length])).toEqual([
      ['entered', 0],
      ['deposit', 0],
      ['left', 0],
    ]);
  });

  it('[living 2.3] is aborted when its lane is gone', async () => {
    const { database } = await openProcedures({
      *dying() {
        yield {
          kind: 'write',
          run: (data) => {
            new LaneAccounts(data).put(1, 1);
            return 'gone';
          },
        };
        return u32Value(0);
      },
      deposit,
    });
    expect(await database.procedure('dying')).toMatchObject({
      error: { code: 'procedure.stopped', message: 'the lane ended' },
    });
    expect(database.accounts().size).toBe(0);
    expect(returned(await database.procedure('deposit', 2))).toBe(2);
  });

  it('[living 2.3] is rolled back whole when it exceeds the quota', async () => {
    const { database } = await openProcedures({ deposit });
    database.database.setStorage({ rowBytesMax: 1 });
    expect(await database.procedure('deposit', 5)).toMatchObject({
      error: { code: 'procedure.failed', message: expect.stringContaining('Quota exceeded') },
    });
    expect(database.accounts().size).toBe(0);
    database.database.setStorage({});
    expect(returned(await database.procedure('deposit', 6))).toBe(6);
  });

  it('[living 2.3] does not begin while the disk is full; a read does', async () => {
    const full = 'The database is read-only: the disk is full';
    const args = accountArgs(1, 1);
    const { database } = await openProcedures(
      {
        deposit,
        *put_one() {
          const answer = yield { kind: 'reducer', id: reducerIds.put, args };
          const end = answer.kind === 'reducer' ? answer.end : undefined;
          throw new Error(end?.kind === 'failed' ? `Uncaught: ${end.message}` : 'another end');
        },
        *unlike() {
          yield { kind: 'write', run: () => 'commit' };
          throw new Error('something else');
        },
        *count() {
          let count = -1;
          yield {
            kind: 'read',
            run: (data) => {
              ({ count } = new LaneAccounts(data));
              return 'commit';
            },
          };
          return u32Value(count);
        },
      },
      { full },
    );
    const refused = { body: { code: 'database.full', message: full, retryAfterSeconds: 1 } };
    await expect(database.procedure('deposit', 5)).rejects.toMatchObject(refused);
    await expect(database.procedure('put_one')).rejects.toMatchObject(refused);
    expect(await database.procedure('unlike')).toMatchObject({
      error: { code: 'procedure.failed', message: 'something else' },
    });
    expect(database.lines.at(-1)).toMatchObject({ level: 'panic', functionName: 'unlike' });
    expect(returned(await database.procedure('count'))).toBe(0);
  });

  it('[living 2.3] does not begin once the program was replaced', async () => {
    const { opened, open: release } = gate();
    const ends: unknown[] = [];
    const { database, desk } = await openProcedures({
      *late() {
        yield { kind: 'wait', until: opened };
        for (const kind of ['write', 'read'] as const) {
          ends.push(transactionIn(yield { kind, run: () => 'commit' }).failure);
        }
        ends.push(yield { kind: 'reducer', id: reducerIds.put, args: accountArgs(1, 1) });
        return u32Value(7);
      },
      deposit,
    });
    const running = database.procedure('late');
    expect(await database.update(2)).toMatchObject({ kind: 'updated' });
    release();
    expect(returned(await running)).toBe(7);
    const text = 'the database was published again while the procedure ran; call it again';
    expect(ends).toEqual([text, text, { kind: 'reducer', end: { kind: 'failed', message: text } }]);
    expect(desk.replacedCount).toBe(1);
    expect(returned(await database.procedure('deposit', 1))).toBe(1);
    expect(database.clientCount).toBe(0);
  });
});

describe('a procedure whose program is replaced', () => {
  it('[living 2.9] leaves once, also where that ends connections', async () => {
    const { opened, open: release } = gate();
    const left: bigint[] = [];
    const ran = ({ reducerName, connectionId }: ReducerCall): void => {
      if (reducerName === 'left') left.push(connectionId);
    };
    const { database, desk } = await openProcedures({ wait: waiting(opened) }, { ran });
    expect(await database.update(2)).toMatchObject({ endsConnections: false });
    const running = database.procedure('wait');
    while (desk.running.length === 0) await nextTurn();
    expect(database.clientCount).toBe(1);
    expect(await database.update(1)).toMatchObject({ endsConnections: true });
    // The connection of one call is nobody's who could be broken.
    expect([database.clientCount, left.length]).toEqual([1, 0]);
    release();
    expect(returned(await running)).toBe(1);
    expect([database.clientCount, left.length]).toEqual([0, 1]);
  });
});

describe('a reducer that a procedure calls', () => {
  it('[living 2.4] returns its value, runs as its caller, and can be private', async () => {
    const runs: { sender: bigint; jwtPayload: string }[] = [];
    const ends: LaneAnswer[] = [];
    const { database } = await openProcedures(
      {
        *both() {
          const id = reducerIds.put;
          ends.push(yield { kind: 'reducer', id, args: accountArgs(1, 10) });
          ends.push(yield { kind: 'reducer', id: reducerIds.add, args: accountArgs(1, 5) });
          return u32Value(0);
        },
      },
      { ran: (run) => runs.push(run) },
    );
    await database.procedure('both');
    expect(ends).toEqual([
      { kind: 'reducer', end: { kind: 'returned' } },
      { kind: 'reducer', end: { kind: 'returned', value: u32Value(15) } },
    ]);
    expect(database.accounts()).toEqual(new Map([[1, 15]]));
    expect(runs.slice(2, 4)).toMatchObject([
      { sender: owner.identity, jwtPayload: owner.jwtPayload },
      { sender: owner.identity, jwtPayload: owner.jwtPayload },
    ]);
  });

  it('[living 2.4] refuses, fails, and is refused, each by its own answer', async () => {
    const ends: unknown[] = [];
    const { database } = await openProcedures({
      *all() {
        for (const [id, args] of [
          [reducerIds.refuse, accountArgs(1, 1)],
          [reducerIds.crash, accountArgs(1, 1)],
          [reducerIds.put, new Uint8Array(1)],
          [reducerIds.init, new Uint8Array(0)],
          [999, new Uint8Array(0)],
        ] as const) {
          const answer = yield { kind: 'reducer', id, args };
          ends.push(answer.kind === 'reducer' ? answer.end : answer);
        }
        return u32Value(0);
      },
    });
    await database.procedure('all');
    expect(ends).toEqual([
      { kind: 'refused', message: 'refused' },
      { kind: 'failed', message: 'crashed' },
      { kind: 'code', code: -errorCodes.undecodable },
      { kind: 'code', code: -errorCodes.hostCallFailure },
      { kind: 'code', code: -errorCodes.hostCallFailure },
    ]);
    expect(database.lines).toMatchObject([
      { level: 'info', message: 'refused (called by the procedure all)' },
      { level: 'panic', message: 'crashed (called by the procedure all)' },
    ]);
  });
});
