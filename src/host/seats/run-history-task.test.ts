import { describe, expect, it } from 'vitest';
import { HistoryLab, labIdentity } from '../../../test/support/history-lab.ts';
import { readPosition } from '../../history/position.ts';
import { positionText } from '../../log/position-text.ts';
import type { SimulatedDisk } from '../../testing/simulated-disk.ts';
import { settingsInForce } from '../registry/history-choice.ts';
import {
  decodeHistoryAnswer,
  decodeHistoryTask,
  encodeHistoryAnswer,
  encodeHistoryTask,
  type HistoryAnswer,
  type HistoryFacts,
  type HistoryTask,
} from './history-task.ts';
import { runHistoryTask } from './run-history-task.ts';
import { verifyFiles } from './verify-files.ts';

/** Three snapshots, each with segments behind it. */
async function story(segmentBytes?: number): Promise<HistoryLab> {
  const lab = await HistoryLab.open(5, segmentBytes);
  for (let part = 0; part < 3; part++) {
    await lab.work(40);
    await lab.snapshot();
  }
  await lab.work(5);
  return lab;
}

const mebibyte = 1024 * 1024;

/** As a task and its answer go to another thread and back. */
async function run(
  lab: HistoryLab,
  task: HistoryTask,
  signal = new AbortController().signal,
): Promise<HistoryAnswer> {
  const sent = decodeHistoryTask(encodeHistoryTask(task));
  const nowMicros = () => lab.micros;
  const place = { disk: lab.disk, identity: labIdentity, signal, nowMicros };
  return decodeHistoryAnswer(encodeHistoryAnswer(await runHistoryTask(sent, place)));
}

function factsOf(answer: HistoryAnswer): HistoryFacts {
  if (answer.kind !== 'done') throw new Error(JSON.stringify(answer));
  return answer.facts;
}

const settings = settingsInForce({ keepMicros: 0n });

describe('a task on a history', () => {
  it('says what is there, with the epoch of positions, and changes nothing', async () => {
    const lab = await story();
    const before = lab.disk.list();
    const holds = [{ by: 'backup', fromOffset: 60 }];
    const facts = factsOf(await run(lab, { kind: 'status', holds }));
    expect(facts).toMatchObject({ epoch: '0000000000000005', originOffset: 0, floorOffset: 1 });
    expect(facts).toMatchObject({ snapshots: 3, deleted: 0, packed: 0 });
    const [held] = facts.held;
    expect(held).toMatchObject({ by: 'backup', fromOffset: 60 });
    expect(held?.bytes).toBeGreaterThan(0);
    expect(held?.bytes).toBeLessThan(facts.bytes.hot + facts.bytes.cold);
    expect(lab.disk.list()).toEqual(before);
    const position = readPosition(`${facts.epoch}.12`);
    expect('kind' in position && position.kind === 'position').toBe(true);
    if ('kind' in position && position.kind === 'position') {
      expect(positionText(position.position)).toBe(`${facts.epoch}.12`);
    }
  });

  it('[history 3.8] keeps what the settings say, unless it is held', async () => {
    const lab = await story();
    const held = [{ by: 'backup', fromOffset: 0 }];
    const first = factsOf(await run(lab, { kind: 'keep', settings, holds: held }));
    expect(first).toMatchObject({ floorOffset: 1 });
    const after = factsOf(await run(lab, { kind: 'keep', settings, holds: [] }));
    expect(after).toMatchObject({ reason: 'age', snapshots: 2, held: [] });
    expect(after.floorOffset).toBeGreaterThan(1);
    expect(after.deleted).toBeGreaterThan(0);
  });

  it('[history 3.21] forgets all that is older than the newest snapshot', async () => {
    const lab = await story();
    const everything = settingsInForce({ keepMicros: 'everything' });
    const facts = factsOf(await run(lab, { kind: 'forget', settings: everything, holds: [] }));
    expect(facts).toMatchObject({ reason: 'forget', snapshots: 1 });
    expect(`${facts.floorOffset}`).toBe(String(Number(lab.snapshots.at(-1)?.match(/\d+/)?.[0])));
  });

  it('[history 3.10] ends when nobody wants it, and changes nothing more', async () => {
    const lab = await story();
    const before = lab.disk.list();
    const task: HistoryTask = { kind: 'keep', settings, holds: [] };
    expect(await run(lab, task, AbortSignal.abort())).toEqual({ kind: 'stopped' });
    expect(lab.disk.list()).toEqual(before);
  });

  it('that the machine cannot do fails with the reason', async () => {
    const lab = await story();
    lab.disk.failAt('remove', (lab.disk.counts.get('remove') ?? 0) + 1, 'EIO');
    const answer = await run(lab, { kind: 'keep', settings, holds: [] });
    expect(answer).toMatchObject({ kind: 'failed', message: expect.stringContaining('EIO') });
  });

  it.each(['{}', '[]', 'x', '{"kind":"done"}', '{"kind":"kept","facts":{}}'])(
    '[living 6.2] is not answered by `%s` from a process',
    (text) => {
      expect(() => decodeHistoryAnswer(text)).toThrow();
    },
  );
});

describe('a check of a log that grows', () => {
  it('[history 3.20] finds it intact, up to the end that it had', async () => {
    const lab = await story();
    let left = 200;
    const read = (): void => {
      if (left-- > 0) lab.commit();
      lab.log.write();
    };
    const findings = verifyFiles(lab.disk, labIdentity, { durableOffset: 0, isDeep: true, read });
    expect(left).toBeLessThan(190);
    expect(findings.map(({ state }) => state)).toEqual(['intact', 'intact', 'intact', 'intact']);
    // What comes after it in the space that its last segment had reserved may be seen, too.
    const end = Number(/up to commit (\d+)$/.exec(findings[0]?.detail ?? '')?.[1]);
    expect(end).toBeGreaterThanOrEqual(126);
    expect(end).toBeLessThan(lab.store.offset);
  });

  it.each([
    ['packed', settingsInForce({ keepMicros: 'everything' })],
    ['deleted', settings],
  ])('[history 3.20] goes on while old segments are %s', async (_, given) => {
    // What a pass leaves, and in which order it gets there.
    const other = await story();
    await run(other, { kind: 'keep', settings: given, holds: [] });
    const there = new Set(other.disk.list());
    for (let at = 0; at < 40; at++) {
      const lab = await story();
      const gone = lab.disk.list().filter((name) => !there.has(name));
      expect(gone.length).toBeGreaterThan(2);
      let left = at;
      const read = (): void => {
        if (left-- !== 0) return;
        const changed = new Set([...gone, 'floor']);
        for (const name of there) {
          if (!lab.disk.list().includes(name) || changed.has(name)) put(lab.disk, name, other.disk);
        }
        for (const name of gone) lab.disk.remove(name);
      };
      const found = verifyFiles(lab.disk, labIdentity, { durableOffset: 0, isDeep: true, read });
      expect(found.filter(({ state }) => state !== 'intact')).toEqual([]);
    }
  });

  it('[history 3.20] does not take what is written between two readings for damage', async () => {
    const lab = await story(mebibyte);
    const early = reserved(lab);
    await lab.work(40);
    const late = reserved(lab);
    for (let at = 0; at < 20; at++) {
      const disk = lab.changed({ [early.name]: early.bytes, durable: early.mark });
      let left = at;
      const read = (): void => {
        if (left-- !== 0) return;
        const file = disk.open(early.name, 'existing');
        file.write(late.bytes, 0);
        file.close();
      };
      const found = verifyFiles(disk, labIdentity, { durableOffset: 0, isDeep: false, read });
      expect(found.filter(({ state }) => state !== 'intact')).toEqual([]);
    }
  });

  it('[history 3.20] names damage in what was durable, though the log grows', async () => {
    const lab = await story();
    const active = lab.disk.list().findLast((name) => name.endsWith('.log')) ?? '';
    const disk = lab.changed({ [active]: flipped(lab.disk, active) });
    for (const durableOffset of [0, lab.store.offset]) {
      const read = (): void => undefined;
      const found = verifyFiles(disk, labIdentity, { durableOffset, isDeep: false, read });
      expect(found[0]).toMatchObject({ name: 'log', state: 'damaged' });
    }
  });

  it.each(['.log', '.rdbs', '.bad-1'])(
    '[history 3.20] names what is wrong with `…%s`',
    async (end) => {
      const lab = await story();
      const name = lab.disk.list().find((one) => one.endsWith(end)) ?? 'x.rdbs.bad-1';
      const disk = lab.changed({ [name]: flipped(lab.disk, name) });
      const found = verifyFiles(disk, labIdentity, {
        ...{ durableOffset: 0, isDeep: false, read: () => undefined },
      });
      const wrong = found.filter(({ state }) => state !== 'intact');
      expect(wrong.map(({ state }) => state)).toContain(end === '.bad-1' ? 'set aside' : 'damaged');
      expect(wrong.some((one) => one.name === (end === '.log' ? 'log' : name))).toBe(true);
    },
  );
});

/** The active segment as it is now, with more space behind it than the window of a reader. */
function reserved({ disk }: HistoryLab) {
  const name = disk.list().findLast((file) => file.endsWith('.log')) ?? '';
  const bytes = new Uint8Array(3 * mebibyte);
  bytes.set(disk.contentOf(name));
  return { name, bytes, mark: Uint8Array.from(disk.contentOf('durable')) };
}

function put(disk: SimulatedDisk, name: string, from: SimulatedDisk): void {
  const bytes = from.contentOf(name);
  if (disk.list().includes(name)) disk.remove(name);
  const file = disk.open(name, 'create');
  file.write(bytes, 0);
  file.close();
}

function flipped(disk: SimulatedDisk, name: string): Uint8Array {
  if (!disk.list().includes(name)) return Uint8Array.of(1);
  const bytes = Uint8Array.from(disk.contentOf(name));
  bytes[300] = (bytes[300] ?? 0) ^ 1;
  return bytes;
}
