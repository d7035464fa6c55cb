import { describe, expect, it, vi } from 'vitest';
import {
  deposit,
  gate,
  openProcedures as open,
  value,
  waiting,
} from '../../../test/support/supervised-procedures.ts';
import { nextTurn } from '../../node/next-turn.ts';

describe('a procedure of a supervised database', () => {
  it('[living 2.9] returns its value when what it committed is durable', async () => {
    const { database, call } = await open({ deposit });
    expect(await call('deposit')).toMatchObject({ kind: 'returned', value });
    const { offset, durableOffset } = database.statistics();
    expect(durableOffset).toBe(offset);
    const { answers } = database.vitals();
    const counted = answers.filter(({ operation }) => operation === 'procedure');
    expect(counted).toMatchObject([{ outcome: 'ok' }]);
    await database.close();
  });

  it('[living 2.9] is lost in a crash, and not run again', async () => {
    let runs = 0;
    const { database, desks, seats, call } = await open({
      *wait() {
        runs += 1;
        yield { kind: 'wait', until: new Promise(() => undefined) };
        return value;
      },
      deposit,
    });
    const lost = call('wait');
    await vi.waitUntil(() => runs === 1);
    seats[0]?.kill({ cause: 'silent', message: 'ended by a test' });
    await expect(lost).rejects.toMatchObject({ body: { code: 'database.lost' } });
    expect(await call('deposit')).toMatchObject({ kind: 'returned' });
    expect([runs, desks.length]).toEqual([1, 2]);
    await database.close();
  });

  it('[living 2.8] is dropped when its caller is gone before it begins', async () => {
    const { opened, open: release } = gate();
    const { database, call, desks } = await open({ wait: waiting(opened) }, 1);
    const gone = new AbortController();
    const early = call('wait', gone.signal);
    gone.abort();
    await expect(early).rejects.toMatchObject({ body: { code: 'database.stopped' } });
    await expect(call('wait', gone.signal)).rejects.toMatchObject({
      body: { code: 'database.stopped' },
    });
    const running = call('wait');
    const later = new AbortController();
    const queued = call('wait', later.signal);
    await vi.waitUntil(() => desks[0]?.queuedCount === 1);
    later.abort();
    expect(await queued).toMatchObject({ error: { code: 'procedure.stopped' } });
    release();
    expect(await running).toMatchObject({ kind: 'returned' });
    await database.close();
  });

  it('[living 2.8] that runs does not hold up the end of its database for long', async () => {
    const { opened, open: release } = gate();
    const { database, call, desks } = await open({ wait: waiting(opened), deposit });
    const running = call('wait');
    await vi.waitUntil(() => desks[0]?.running.length === 1);
    const closed = database.close();
    await nextTurn();
    release();
    expect(await running).toMatchObject({ kind: 'returned' });
    await closed;
    expect(desks[0]?.isStopped).toBe(true);
  });

  it('[living 1.16, 2.6] that takes long does not make its database look ill', async () => {
    const { opened, open: release } = gate();
    const { database, clock, call, desks } = await open({ wait: waiting(opened) });
    const running = call('wait');
    await vi.waitUntil(() => desks[0]?.running.length === 1);
    await clock.advance(600_000);
    expect(database.health()).toMatchObject({ isFine: true });
    release();
    expect(await running).toMatchObject({ kind: 'returned' });
    await database.close();
  });
});
