import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';
import { assert } from '../assert.ts';
import type { Realm } from '../module/javascript/realm.ts';
import { realmPreludeSource } from '../module/javascript/realm-prelude-source.ts';

/**
 * Opens a `vm` context with the hardening library loaded. The context has a microtask queue of its
 * own, which runs only inside `evaluate`; strings can become code (the library restricts that to
 * its compartments), WebAssembly cannot. Costs about 20 ms and 3 MiB.
 */
export function openRealm(): Realm {
  return realmOpener(hardeningFile())();
}

/** `openRealm` for a known library file, which may be the only readable one. */
export function realmOpener(file: string): () => Realm {
  return () => openWith(file);
}

function openWith(file: string): Realm {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
    microtaskMode: 'afterEvaluate',
    codeGeneration: { strings: true, wasm: false },
  });
  const realm: Realm = {
    evaluate: (source, filename) => new vm.Script(source, { filename }).runInContext(context),
    enter: enterGuest,
  };
  realm.evaluate(realmPreludeSource, 'reducerdb-prelude.js');
  hardeningScript(file).runInContext(context);
  return realm;
}

let cachedScript: vm.Script | undefined;

function hardeningScript(file: string): vm.Script {
  cachedScript ??= new vm.Script(readFileSync(file, 'utf8'), { filename: 'ses.js' });
  return cachedScript;
}

/** The file of the hardening library: the small one, which takes half the time to compile. */
export function hardeningFile(): string {
  const folder = path.dirname(createRequire(import.meta.url).resolve('ses/package.json'));
  return path.join(folder, 'dist/ses.umd.min.js');
}

let isInside = false;

/**
 * Runs `run` from within the hook that formats an error's stack. While it runs, the engine formats
 * every further stack natively and calls no hook, neither Node's nor a guest's.
 */
function enterGuest<Result>(run: () => Result): Result {
  if (isInside) return run();
  const box: { settled?: { value: Result } | { thrown: unknown } } = {};
  const savedHook = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  const savedLimit = Error.stackTraceLimit;
  const restore = (): void => {
    Error.stackTraceLimit = savedLimit;
    if (savedHook === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace');
    else Object.defineProperty(Error, 'prepareStackTrace', savedHook);
  };
  Error.stackTraceLimit = 0;
  const door = new Error();
  const hook = (error: Error): string => {
    if (error !== door) return String(error);
    restore();
    isInside = true;
    try {
      box.settled = { value: run() };
    } catch (thrown) {
      box.settled = { thrown };
    } finally {
      isInside = false;
    }
    return '';
  };
  Object.defineProperty(Error, 'prepareStackTrace', {
    value: hook,
    configurable: true,
    writable: true,
    enumerable: true,
  });
  try {
    void door.stack;
  } finally {
    if (box.settled === undefined) restore();
  }
  assert(box.settled !== undefined, 'guest code must run inside the stack formatter');
  if ('thrown' in box.settled) throw box.settled.thrown;
  return box.settled.value;
}
