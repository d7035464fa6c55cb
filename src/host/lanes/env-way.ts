import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { assert } from '../../assert.ts';
import { emptyEnv, type ModuleEnv } from '../../module/module-env.ts';

/**
 * The way of a lane to the configuration of its database, with its secrets; the gateway has the
 * other end. A lane asks when its program reads the configuration and it has changed, so nothing
 * waits here, however often it changes.
 */
export interface EnvWay {
  readonly port: MessagePort;
  /** Two words of 32 bits: changes so far, and answers on the port; the gateway counts both. */
  readonly counts: SharedArrayBuffer;
}

/** The answer to a lane, which asks with an empty message. */
export interface EnvAnswer {
  readonly env: ModuleEnv;
  /** The count of changes when this was current. */
  readonly change: number;
}

export const changeWord = 0;
export const answerWord = 1;

/** The current configuration; blocks the thread while a changed one is fetched. */
export function currentEnv(way: EnvWay | undefined): () => ModuleEnv {
  if (way === undefined) return () => emptyEnv;
  const { port } = way;
  const counts = new Int32Array(way.counts);
  let known: EnvAnswer | undefined;
  return () => {
    if (known?.change === Atomics.load(counts, changeWord)) return known.env;
    const answered = Atomics.load(counts, answerWord);
    port.postMessage(undefined);
    while (Atomics.load(counts, answerWord) === answered) {
      Atomics.wait(counts, answerWord, answered);
    }
    const received = receiveMessageOnPort(port);
    assert(received !== undefined, 'an answer is posted before it is counted');
    known = received.message as EnvAnswer;
    return known.env;
  };
}
