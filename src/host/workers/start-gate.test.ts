import { expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { StartGate } from './start-gate.ts';

const large = limits.smallLogBytesMax + 1;

/** Enters and says so; the returned function leaves. */
function entering(gate: StartGate, entered: string[]) {
  return async (name: string, bytes: number) => {
    const leave = await gate.enter(bytes);
    entered.push(name);
    return leave;
  };
}

const pause = () => new Promise((resolve) => setImmediate(resolve));

it('lets the shortest log in first, and equal ones in their order', async () => {
  const gate = new StartGate(1);
  const entered: string[] = [];
  const enter = entering(gate, entered);
  const leaveFirst = await enter('first', 5);
  const rest = [enter('c', 9), enter('a', 1), enter('d', 9), enter('b', 1)];
  await pause();
  expect(entered).toEqual(['first']);
  leaveFirst();
  for (const one of rest) void one.then((leave) => leave());
  await Promise.all(rest);
  await pause();
  expect(entered).toEqual(['first', 'a', 'b', 'c', 'd']);
});

it('[living 6.6] lets nobody be overtaken without end', async () => {
  const gate = new StartGate(1);
  const entered: string[] = [];
  const enter = entering(gate, entered);
  const leaveFirst = await enter('first', 5);
  const smaller = Array.from({ length: limits.startOvertakesMax + 2 }, (_, at) => `small-${at}`);
  const rest = [enter('waits', 9), ...smaller.map((name) => enter(name, 1))];
  leaveFirst();
  for (const one of rest) void one.then((leave) => leave());
  await Promise.all(rest);
  await pause();
  expect(entered.indexOf('waits')).toBe(1 + limits.startOvertakesMax);
  expect(entered.filter((name) => name !== 'waits')).toEqual(['first', ...smaller]);
});

it('keeps a place for small logs, however many large ones there are', async () => {
  const gate = new StartGate(3);
  const entered: string[] = [];
  const enter = entering(gate, entered);
  const larges = ['x', 'y', 'z'].map((name) => enter(name, large));
  await pause();
  expect(entered).toEqual(['x', 'y']);
  const leaveSmall = await enter('small', large - 1);
  leaveSmall();
  await pause();
  expect(entered).toEqual(['x', 'y', 'small']);
  (await larges[0])?.();
  await pause();
  expect(entered).toEqual(['x', 'y', 'small', 'z']);
});

it('gives a place back once, however often it is left', async () => {
  const gate = new StartGate(1);
  const entered: string[] = [];
  const enter = entering(gate, entered);
  const leave = await enter('first', 0);
  void enter('second', 0);
  void enter('third', 0);
  leave();
  leave();
  await pause();
  expect(entered).toEqual(['first', 'second']);
});
