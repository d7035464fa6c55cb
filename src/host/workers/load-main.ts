import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import type { ProgramData } from './program-messages.ts';

/**
 * Runs the program of a thread from what the engine has compiled of it before. The engine checks
 * that, and compiles the program again where the code is of another version of it, or of other
 * settings. See `compiled-program.ts`.
 */
const { program, isCompiling } = workerData as ProgramData;
const address = pathToFileURL(program.file).href;
const script = new vm.Script(readFileSync(program.file, 'latin1'), {
  filename: address,
  ...(program.code && { cachedData: new Uint8Array(program.code) }),
});
type Program = (require: NodeJS.Require, address: string) => void;
(script.runInThisContext() as Program)(createRequire(address), address);
if (isCompiling === true) parentPort?.postMessage(script.createCachedData());
