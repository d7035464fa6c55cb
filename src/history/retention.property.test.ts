import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { Random } from '../testing/random.ts';
import {
  type HistoryFiles,
  type HistorySettings,
  isDiskLow,
  planForgetting,
  planRetention,
  type RetentionMoment,
  type RetentionPlan,
  type SegmentFacts,
  type SnapshotFacts,
} from './retention.ts';

const mebibyte = 1024 * 1024;
const day = 86_400_000_000n;

interface Scene {
  readonly files: HistoryFiles;
  readonly settings: HistorySettings;
  readonly moment: RetentionMoment;
}

/** A log of segments of 64 MiB, or its rest, with snapshots here and there. */
function randomScene(random: Random): Scene {
  const count = random.between(1, 30);
  const first = random.chance(0.5) ? 1 : random.between(2, 9);
  const segmentBytes = 64 * mebibyte;
  const segments: SegmentFacts[] = Array.from({ length: count }, (_, index) => ({
    name: `segment ${first + index}`,
    sequence: first + index,
    firstOffset: 1 + (first + index - 1) * 1000,
    bytes: Math.floor(segmentBytes / random.pick([1, 3, 3])),
  }));
  const snapshots: SnapshotFacts[] = [];
  const gap = random.pick([1, 2, 5]);
  const snapshotBytes = random.pick([1, 40, 900]) * mebibyte;
  let micros = 0n;
  for (let sequence = first; sequence < first + count; sequence += random.between(1, gap)) {
    if (sequence > first || first > 1) {
      const share = random.below(1000);
      micros += BigInt(random.below(2000)) * (day / 1000n);
      snapshots.push({
        name: `snapshot ${sequence}`,
        offset: (sequence - 1) * 1000 + share,
        micros,
        position: Math.floor((sequence - 1 + share / 1000) * segmentBytes),
        segment: sequence,
        bytes: snapshotBytes,
      });
    }
  }
  const endOffset = (first + count - 1) * 1000;
  const volumeBytes = 100 * 1024 * mebibyte;
  const holds = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, () => {
    return { by: 'backup', fromOffset: random.below(endOffset + 1) };
  });
  return {
    files: { segments, snapshots, endOffset },
    settings: {
      keepMicros: random.pick(['everything' as const, 0n, day, 3n * day, 30n * day]),
      keepBytes: random.pick([0, 100, 500, 2048]) * mebibyte,
      keepCommits: random.pick([undefined, undefined, 0, 1500, 9000]),
      onLowDisk: random.pick(['shrink', 'warn'] as const),
    },
    moment: {
      nowMicros: micros + BigInt(random.below(3)) * day,
      freeBytes: random.pick([0, 1000, 4000, 4900, 90_000]) * mebibyte,
      volumeBytes,
      holds,
      gapBytesMax: random.pick([0, 100, 256]) * mebibyte,
    },
  };
}

/**
 * The slow way: sets of names that stay, tried one after another, each judged by what the rules say
 * about it.
 */
class Model {
  readonly #scene: Scene;
  readonly #base: number;
  readonly #top: number;

  constructor(scene: Scene) {
    this.#scene = scene;
    const { segments, snapshots } = scene.files;
    this.#base = segments[0]?.sequence === 1 || snapshots.length === 0 ? -1 : 0;
    this.#top = Math.max(...this.#held(snapshots.length - 2), this.#base);
  }

  /** Names of the snapshots and segments that stay. */
  stay(): Set<string> {
    const { snapshots } = this.#scene.files;
    let floor = this.#base;
    for (let index = floor + 1; index <= this.#top; index++) if (this.#isOld(index)) floor = index;
    const kept = this.#thinned(floor);
    while (this.#isOver(floor, kept)) {
      const next = snapshots.findIndex((one, index) => {
        return index > floor && index <= this.#top && kept.has(one.name);
      });
      if (next === -1) break;
      floor = next;
    }
    return this.#names(floor, kept);
  }

  /** The indices up to `last` at which the log may begin, because all that is held is behind. */
  #held(last: number): number[] {
    const { files, moment } = this.#scene;
    return files.snapshots
      .slice(0, Math.max(last + 1, 0))
      .map((_, index) => index)
      .filter((index) => {
        const { offset } = files.snapshots[index] as SnapshotFacts;
        return moment.holds.every(({ fromOffset }) => offset <= fromOffset);
      });
  }

  #isOld(index: number): boolean {
    const { files, settings, moment } = this.#scene;
    const { keepMicros } = settings;
    if (keepMicros === 'everything') return false;
    return (files.snapshots[index] as SnapshotFacts).micros + keepMicros <= moment.nowMicros;
  }

  #thinned(floor: number): Set<string> {
    const { files, settings, moment } = this.#scene;
    const { snapshots } = files;
    const held = Math.max(...this.#held(snapshots.length - 1), -1);
    const isFurther = (index: number): boolean =>
      index > floor && index < Math.min(snapshots.length - 2, held);
    const kept = new Set(snapshots.slice(Math.max(floor, 0)).map(({ name }) => name));
    snapshots.forEach((one, index) => {
      if (!isFurther(index)) return;
      const before = snapshots.slice(0, index).filter(({ name }) => kept.has(name));
      const since = before.at(-1)?.position ?? 0;
      const until = snapshots[index + 1]?.position ?? 0;
      if (until - since <= (moment.gapBytesMax ?? 0)) kept.delete(one.name);
    });
    if (settings.keepMicros === 'everything' || settings.keepBytes === 0) return kept;
    for (let count = -1; count !== kept.size; ) {
      count = kept.size;
      let isNext = true;
      snapshots.forEach((one, index) => {
        if (!isFurther(index) || !kept.has(one.name)) return;
        const old = snapshots.filter((each, at) => {
          return kept.has(each.name) && at >= floor && at < snapshots.length - 2;
        });
        const isTooMuch = sum(old) > settings.keepBytes / 4;
        if (isNext && isTooMuch) kept.delete(one.name);
        isNext = !isNext;
      });
    }
    return kept;
  }

  #isOver(floor: number, kept: Set<string>): boolean {
    const { files, settings, moment } = this.#scene;
    if (settings.keepMicros === 'everything') return false;
    const names = this.#names(floor, kept);
    const hot = files.snapshots.at(-2)?.segment ?? 0;
    const twoNewest = files.snapshots.slice(-2).map(({ name }) => name);
    const cold = files.segments.filter((one) => names.has(one.name) && one.sequence < hot);
    const old = files.snapshots.filter(
      (one) => names.has(one.name) && !twoNewest.includes(one.name),
    );
    const bytes = sum(cold) + sum(old);
    const commits = files.endOffset - (files.snapshots[floor]?.offset ?? 0);
    const all = [...files.segments, ...files.snapshots];
    const freeBytes = moment.freeBytes + sum(all.filter(({ name }) => !names.has(name)));
    return (
      (settings.keepBytes > 0 && bytes > settings.keepBytes) ||
      (settings.keepCommits !== undefined && commits > settings.keepCommits) ||
      (settings.onLowDisk === 'shrink' && isDiskLow({ ...moment, freeBytes }))
    );
  }

  #names(floor: number, kept: Set<string>): Set<string> {
    const { segments, snapshots } = this.#scene.files;
    const begin = floor > this.#base ? (snapshots[floor]?.segment ?? 0) : 0;
    return new Set([
      ...segments.filter(({ sequence }) => sequence >= begin).map(({ name }) => name),
      ...snapshots
        .filter(({ name }, index) => index >= floor && (index === floor || kept.has(name)))
        .map(({ name }) => name),
    ]);
  }
}

function sum(files: readonly { readonly bytes: number }[]): number {
  return files.reduce((total, { bytes }) => total + bytes, 0);
}

function staying({ files }: Scene, plan: RetentionPlan): Set<string> {
  const gone = new Set([...plan.segments, ...plan.snapshots]);
  const all = [...files.segments, ...files.snapshots].map(({ name }) => name);
  return new Set(all.filter((name) => !gone.has(name)));
}

/** What every plan must be, whatever led to it. */
function expectSound(scene: Scene, plan: RetentionPlan): void {
  const { files, moment } = scene;
  const gone = new Set([...plan.segments, ...plan.snapshots]);
  const count = plan.segments.length;
  expect(plan.segments).toEqual(files.segments.slice(0, count).map(({ name }) => name));
  expect(count).toBeLessThan(files.segments.length);
  for (const { name } of files.snapshots.slice(-2)) expect(gone.has(name)).toBe(false);
  const [base] = files.snapshots.filter(({ name }) => !gone.has(name));
  if (plan.beginning !== undefined) expect(plan.beginning.snapshot).toBe(base);
  if (count > 0) expect(plan.beginning).toBeDefined();
  const first = files.segments[count] as SegmentFacts;
  if (plan.beginning !== undefined) expect(first.sequence).toBe(base?.segment);
  const from = plan.beginning?.snapshot.offset ?? 0;
  for (const { fromOffset } of moment.holds) expect(fromOffset).toBeGreaterThanOrEqual(from);
}

describe('what goes of a history', () => {
  it('[history 3.1, 3.2, 3.5, 3.7] is what the slow way says, in every scene', () => {
    const seed = Number(process.env.RETENTION_SEED ?? 20_261_128);
    const reasons = new Set<string>();
    for (let round = 0; round < 6000; round++) {
      const scene = randomScene(new Random(seed * 10_007 + round));
      const plan = planRetention(scene.files, scene.settings, scene.moment);
      expect([...staying(scene, plan)].sort(), `seed ${seed}, round ${round}`).toEqual(
        [...new Model(scene).stay()].sort(),
      );
      expectSound(scene, plan);
      reasons.add(plan.beginning?.reason ?? 'none');
    }
    expect([...reasons].sort()).toEqual(['age', 'bytes', 'commits', 'low disk', 'none']);
  });

  it('[history 3.21] is all before what is held when it is forgotten', () => {
    const forgotten = { whole: 0, partly: 0 };
    for (let round = 0; round < 500; round++) {
      const scene = randomScene(new Random(round));
      const plan = planForgetting(scene.files, scene.moment);
      const { snapshots, segments } = scene.files;
      const held = Math.min(...scene.moment.holds.map(({ fromOffset }) => fromOffset));
      const index = snapshots.findLastIndex(({ offset }) => offset <= held);
      const first = snapshots[index];
      if (first === undefined) {
        expect(plan).toMatchObject({ beginning: undefined, snapshots: [], segments: [] });
        continue;
      }
      forgotten[index === snapshots.length - 1 ? 'whole' : 'partly']++;
      const stay = staying(scene, plan);
      expect(snapshots.filter(({ name }) => stay.has(name))).toEqual(snapshots.slice(index));
      expect(plan.segments.length).toBe(
        segments.filter(({ sequence }) => sequence < first.segment).length,
      );
    }
    expect(forgotten.whole).toBeGreaterThan(200);
    expect(forgotten.partly).toBeGreaterThan(20);
  });

  it('[history 3.2] is nothing without two snapshots', () => {
    for (let round = 0; round < 300; round++) {
      const scene = randomScene(new Random(round));
      const files = { ...scene.files, snapshots: scene.files.snapshots.slice(0, 1) };
      const plan = planRetention(files, { ...scene.settings, keepMicros: 0n }, scene.moment);
      expect([plan.segments, plan.snapshots]).toEqual([[], []]);
    }
  });

  it('[history 3.2] lasts as configured', () => {
    expect(limits.snapshotGapBytesMax).toBe(256 * mebibyte);
    expect(isDiskLow({ freeBytes: 1024 * mebibyte - 1, volumeBytes: 0 })).toBe(true);
    expect(isDiskLow({ freeBytes: 1024 * mebibyte, volumeBytes: 20 * 1024 * mebibyte })).toBe(
      false,
    );
    expect(isDiskLow({ freeBytes: 2048 * mebibyte, volumeBytes: 41 * 1024 * mebibyte })).toBe(true);
  });
});
