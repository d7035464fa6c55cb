import { expect, it } from 'vitest';
import { describeExit } from './process-worker.ts';

const exit = {
  code: null,
  signal: null,
  mayBeForMemory: true,
  hasRun: true,
  wasInModule: true,
  heapMebibytes: 256,
};

it('tells a process that did not start from a module that ate its memory', () => {
  expect(describeExit({ ...exit, signal: 'SIGABRT' }).message).toBe(
    'The module used far more than 256 MiB of memory and was stopped (SIGABRT).',
  );
  expect(describeExit({ ...exit, signal: 'SIGABRT', hasRun: false }).message).toMatch(
    /^The process of the database did not start \(SIGABRT\)\. The system may allow/,
  );
  expect(describeExit({ ...exit, signal: 'SIGABRT', wasInModule: false }).message).toBe(
    'The process of the database ended (SIGABRT).',
  );
  const killed = { ...exit, signal: 'SIGKILL' } as const;
  expect(describeExit(killed)).toEqual({
    cause: 'died',
    message: expect.stringMatching(/for its memory, or by somebody\.$/),
  });
  expect(describeExit({ ...killed, mayBeForMemory: false }).cause).toBe('killed');
  expect(describeExit({ ...exit, code: 7 }).message).toContain('(exit code 7)');
});
