/**
 * The only code that knows both worlds: evaluated in the guest realm before any user code, it
 * hardens the realm, makes the compartment, and stands between the program and the host. The text
 * around it makes it the function `bridge(outer, options)`, which returns `api` (see
 * `bridge-source.ts` and `guest-api.ts`).
 *
 * 1. The program is never given a function or object of the host. It gets closures of these files,
 *    which check that arguments are primitives, call the host, and return the primitive it answers.
 * 2. What a host function throws is never looked at: it would be an object of the host's realm. Any
 *    failure becomes a fresh error of this realm. The host keeps the reason on its side.
 * 3. What the program throws never leaves: it is read here, with every read guarded, into two
 *    texts.
 * 4. Buffers are made here. The host writes to them through views of its own; nothing in the realm
 *    can detach a buffer (see `prelude/pattern-guards.js`).
 * 5. Intrinsics are frozen before user code runs, so these files may use them by name.
 */
import {
  bindGlobals,
  boundNames,
  guardArguments,
  hiddenGlobals,
  programSource,
  target,
} from './compartment.js';
import { reseed } from './globals.js';
import { setClock, stacksAreNative } from './hardening.js';
import { apply, argumentBytes, host, stackLengthMax, textLengthMax } from './host.js';
import { drain, isPromise, watch } from './promise.js';
import { growScratch, scratch, sys } from './sys.js';
import { cut, describeThrown, messageOf, stackOf } from './thrown.js';

const argumentsBuffer = new ArrayBuffer(argumentBytes);

/** The time that the program sees while it loads, and in views. */
let loadMicros = 0n;
let hooks;
let callReducerHook;
let describeHook;
let SenderError;
let message = '';
let stack = '';
let oneOffArguments;
let description = new ArrayBuffer(0);
let viewResult = new ArrayBuffer(0);
let callResult;
let callBody;
// Calls that have ended while others ran, in order; the last one that was asked for.
const ended = [];
/** @type {import('../../guest-api.ts').GuestStatus} */
let endedStatus = 0;

/** @type {import('../../guest-api.ts').GuestApi} */
export const api = Object.freeze({
  __proto__: null,
  scratch: () => scratch,
  growScratch,
  argumentsBuffer: (length) => {
    if (length > argumentBytes) return (oneOffArguments = new ArrayBuffer(length));
    return argumentsBuffer;
  },
  programSource,
  load,
  describe,
  description: () => description,
  callReducer,
  takeCallResult,
  takeCallBody,
  callProcedure,
  callHandler,
  completed,
  abort,
  setClock,
  nextEnded,
  endedStatus: () => endedStatus,
  callView,
  callAnonymousView,
  takeViewResult,
  callMigration,
  migrationPlace,
  settle: () => drain(reportRejection),
  message: () => message,
  stack: () => stack,
  stacksAreNative,
});

function load(makeProgram, micros) {
  loadMicros = micros;
  setClock(micros);
  return guarded(() => {
    const module = { exports: {} };
    const values = [bindGlobals, target, ...boundNames.map((name) => target[name])];
    makeProgram(hiddenGlobals(), target, values)(module, refuseImport, ...guardArguments);
    const namespace = namespaceOf(module.exports);
    if (!('default' in namespace)) throw new TypeError('must export schema as default export');
    const schema = namespace.default;
    const isObject = typeof schema === 'object' ? schema !== null : typeof schema === 'function';
    const getHooks = isObject ? schema[Symbol.for(options.hooksKey)] : undefined;
    if (typeof getHooks !== 'function') {
      throw new TypeError('default export is not a Schema object');
    }
    hooks = apply(getHooks, schema, [namespace, sys]);
    describeHook = hookNamed(options.hookNames.describeModule);
    callReducerHook = hookNamed(options.hookNames.callReducer);
    SenderError = hookNamed(options.hookNames.senderErrorClass);
  });
}

function refuseImport() {
  throw new TypeError('import() is not available in modules: bundle what the module needs');
}

function namespaceOf(exports) {
  /** @type {any} */
  const namespace = { __proto__: null };
  for (const name of Object.keys(exports).sort()) namespace[name] = exports[name];
  Object.defineProperty(namespace, Symbol.toStringTag, { value: 'Module' });
  return Object.freeze(namespace);
}

function hookNamed(name) {
  const hook = typeof hooks === 'object' && hooks !== null ? hooks[name] : undefined;
  if (typeof hook !== 'function') {
    const got = hook === null ? 'null' : typeof hook;
    throw new TypeError('Expected module function hook ' + '`' + name + '`, got ' + got);
  }
  return hook;
}

function describe() {
  return guarded(() => {
    const bytes = apply(describeHook, hooks, []);
    const buffer = bufferOf(bytes);
    if (buffer === undefined) {
      throw new TypeError(
        options.hookNames.describeModule + ' must return a Uint8Array, got ' + typeof bytes,
      );
    }
    description = buffer;
  });
}

function callReducer(id, sender, connectionId, timestamp, length) {
  setClock(timestamp);
  reseed();
  try {
    const args = placedArguments(length);
    const returned = apply(callReducerHook, hooks, [id, sender, connectionId, timestamp, args]);
    if (returned === undefined) return 0;
    callResult = bufferOf(returned);
    if (callResult !== undefined) return 3;
    throw new TypeError('Reducer returned a value other than `undefined`');
  } catch (thrown) {
    const status = classify(thrown);
    if (status !== 1) return status;
    callResult = errorBytesOf(thrown);
    return callResult === undefined ? 1 : 4;
  }
}

function placedArguments(length) {
  const buffer = length > argumentBytes ? oneOffArguments : argumentsBuffer;
  oneOffArguments = undefined;
  return new DataView(buffer, 0, length);
}

function callProcedure(id, sender, connectionId, timestamp, length, call) {
  setClock(timestamp);
  reseed();
  const hookName = options.hookNames.callProcedure;
  const take = (value) => {
    callResult = bufferOf(value);
    if (callResult === undefined) throw new TypeError(hookName + ' must return a Uint8Array');
  };
  return callAsync(call, take, () => {
    const args = placedArguments(length);
    // Looked up with the call: programs without procedures may come without the hook.
    return apply(hookNamed(hookName), hooks, [id, sender, connectionId, timestamp, args, call]);
  });
}

// The head of the request, its body and the parameters of its path lie one after the other.
function callHandler(id, sender, timestamp, headLength, bodyLength, paramsLength, call) {
  setClock(timestamp);
  reseed();
  const hookName = options.hookNames.callHttpHandler;
  const take = (parts) => {
    const isPair = Array.isArray(parts) && parts.length === 2;
    callResult = isPair ? bufferOf(parts[0]) : undefined;
    callBody = isPair ? bufferOf(parts[1]) : undefined;
    if (callResult !== undefined && callBody !== undefined) return;
    throw new TypeError('`' + hookName + '` must return a two-element array');
  };
  return callAsync(call, take, () => {
    const placed = placedArguments(headLength + bodyLength + paramsLength);
    const copyOf = (at, length) => new Uint8Array(new Uint8Array(placed.buffer, at, length));
    const head = copyOf(0, headLength);
    const body = copyOf(headLength, bodyLength);
    const params = copyOf(headLength + bodyLength, paramsLength);
    // Looked up with the call: programs without handlers may come without the hook.
    const hook = hookNamed(hookName);
    return apply(hook, hooks, [id, timestamp, head, body, params, sender, call]);
  });
}

// Runs a hook that may return a promise. `take` checks the value, and leaves it for the host.
function callAsync(call, take, run) {
  let isWaiting = false;
  const status = guarded(() => {
    const returned = run();
    if (!isPromise(returned)) return take(returned);
    isWaiting = true;
    watch(
      returned,
      (value) => end(call, () => take(value)),
      (reason) => {
        end(call, () => {
          throw reason;
        });
      },
    );
  });
  return isWaiting ? 5 : status;
}

function end(call, run) {
  callResult = undefined;
  callBody = undefined;
  const status = guarded(run);
  ended.push({ call, status, message, stack, result: takeCallResult(), body: takeCallBody() });
}

function nextEnded() {
  const next = ended.shift();
  if (next === undefined) return 0;
  endedStatus = next.status;
  message = next.message;
  stack = next.stack;
  callResult = next.result;
  callBody = next.body;
  return next.call;
}

function completed(operation, result, bodyBytes, text, isRedirected) {
  notify(options.hookNames.operationCompleted, [operation, result, bodyBytes, text, isRedirected]);
}

function abort(call, reason) {
  notify(options.hookNames.abortCall, [call, reason]);
}

// What such a hook throws is nobody's failure: the call that waits for it goes on waiting.
function notify(hookName, args) {
  try {
    const hook = hooks[hookName];
    if (typeof hook === 'function') apply(hook, hooks, args);
  } catch (thrown) {
    reportThrown(hookName + ' failed: ', thrown);
  }
}

// A copy of the engine's making, whatever the program has done to its own.
function bufferOf(bytes) {
  const isBytes = ArrayBuffer.isView(bytes) && bytes instanceof Uint8Array;
  return isBytes ? new Uint8Array(bytes).buffer : undefined;
}

function errorBytesOf(thrown) {
  try {
    return bufferOf(thrown[options.errorBytesKey]);
  } catch {
    return undefined;
  }
}

function takeCallResult() {
  const taken = callResult;
  callResult = undefined;
  return taken;
}

function takeCallBody() {
  const taken = callBody;
  callBody = undefined;
  return taken;
}

// A view is a function of the rows: its clock stands still and its randomness is always the same.
function callView(id, sender) {
  return evaluateView(options.hookNames.callView, [id, sender, new Uint8Array(0)]);
}

function callAnonymousView(id) {
  return evaluateView(options.hookNames.callAnonymousView, [id, new Uint8Array(0)]);
}

function evaluateView(hookName, args) {
  setClock(loadMicros);
  reseed();
  viewResult = new ArrayBuffer(0);
  return guarded(() => {
    // Looked up with the call: programs without views may come without the hooks.
    const result = apply(hookNamed(hookName), hooks, args);
    const isObject = typeof result === 'object' && result !== null;
    const buffer = bufferOf(isObject ? result.data : undefined);
    if (buffer === undefined) {
      throw new TypeError(hookName + ' must return an object whose data is a Uint8Array');
    }
    viewResult = buffer;
  });
}

// It may be large: nothing here keeps it.
function takeViewResult() {
  const taken = viewResult;
  viewResult = new ArrayBuffer(0);
  return taken;
}

// A migration is a function of the rows and the time it is given: its randomness is always the
// same.
function callMigration(kind, step, count, timestamp, length, route) {
  setClock(timestamp);
  reseed();
  callResult = undefined;
  const hookName = options.hookNames.callMigration;
  return guarded(() => {
    const rows = placedArguments(length);
    // Looked up with the call: programs without migrations may come without the hook.
    const hook = hookNamed(hookName);
    callResult = bufferOf(apply(hook, hooks, [kind, step, count, timestamp, rows, route]));
    if (callResult === undefined) throw new TypeError(hookName + ' must return a Uint8Array');
  });
}

// What the program was doing when it failed, in its own words.
function migrationPlace() {
  try {
    const place = apply(hookNamed(options.hookNames.migrationPlace), hooks, []);
    return typeof place === 'string' ? cut(place, textLengthMax) : '';
  } catch {
    return '';
  }
}

function guarded(run) {
  try {
    run();
    return 0;
  } catch (thrown) {
    return classify(thrown);
  }
}

// 1 = refused by the program in its own words, 2 = anything else. Reads may run guest code.
function classify(thrown) {
  message = '';
  stack = '';
  if (isSenderError(thrown)) {
    message = cut(messageOf(thrown), textLengthMax);
    return 1;
  }
  message = cut('Uncaught ' + cut(describeThrown(thrown), textLengthMax), textLengthMax);
  stack = cut(stackOf(thrown), stackLengthMax);
  return 2;
}

function isSenderError(thrown) {
  try {
    return SenderError !== undefined && thrown instanceof SenderError;
  } catch {
    return false;
  }
}

function reportRejection(reason) {
  reportThrown('Unhandled promise rejection: ', reason);
}

function reportThrown(what, thrown) {
  if (!host.mayLog()) return;
  const text = what + cut(describeThrown(thrown), textLengthMax);
  host.log(0, cut(text, textLengthMax), cut(stackOf(thrown), stackLengthMax));
}
