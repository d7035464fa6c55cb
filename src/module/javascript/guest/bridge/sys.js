/** What a program calls: functions that check that arguments are primitives, then call the host. */
import './hardening.js';
import {
  apply,
  host,
  scratchBytes,
  scratchBytesMax,
  stackLengthMax,
  textLengthMax,
} from './host.js';
import { cut } from './thrown.js';

export let scratch = new ArrayBuffer(scratchBytes);
export const sys = makeSys();

export function growScratch(minBytes) {
  if (minBytes <= scratch.byteLength) return scratch;
  if (minBytes > scratchBytesMax) {
    throw new RangeError('a row or key may have at most ' + scratchBytesMax + ' bytes');
  }
  const bytes = Math.min(scratchBytesMax, Math.max(minBytes, scratch.byteLength * 2));
  const larger = new ArrayBuffer(bytes);
  new Uint8Array(larger).set(new Uint8Array(scratch));
  scratch = larger;
  host.scratchReplaced(larger);
  return larger;
}

function refuse(type, value) {
  throw new TypeError('Expected `' + type + '`, got ' + typeof value);
}

function number(value) {
  if (typeof value !== 'number') refuse('u32', value);
  return value;
}

function bigint(value) {
  if (typeof value !== 'bigint') refuse('i64', value);
  return value;
}

function string(value) {
  if (typeof value !== 'string') refuse('string', value);
  return value;
}

function makeSys() {
  const named = (run) => (name) => run(string(name));
  const call1 = (run) => (a) => run(number(a));
  const call2 = (run) => (a, b) => run(number(a), number(b));
  const call3 = (run) => (a, b, c) => run(number(a), number(b), number(c));
  const call5 = (run) => (a, b, c, d, e) =>
    run(number(a), number(b), number(c), number(d), number(e));
  // A write that runs out of stack halfway ends the whole database (it reopens from its log), so a
  // runaway recursion shall fail here, where nothing is changed yet: every 32nd write makes sure
  // that there are 32 KiB left, which is more than 32 levels of an ordinary recursion and one write
  // need.
  const ballast = Object.freeze(new Array(4096).fill(0));
  const nothing = () => {};
  let writeCount = 0;
  const write = (run) => (a, b, c, d, e) => {
    writeCount += 1;
    if ((writeCount & 31) === 0) apply(nothing, undefined, ballast);
    return run(a, b, c, d, e);
  };
  const callerStack = () => cut(String(new Error().stack), stackLengthMax);
  return harden({
    scratch: (minBytes) => growScratch(number(minBytes)),
    table_id: named(host.tableId),
    index_id: named(host.indexId),
    row_count: call1(host.rowCount),
    insert: write(call2(host.insert)),
    update: write(call3(host.update)),
    delete_equal: write(call2(host.deleteEqual)),
    find: call2(host.find),
    scan: call1(host.scan),
    scan_point: call2(host.scanPoint),
    scan_range: call5(host.scanRange),
    next: call1(host.next),
    close: call1(host.close),
    delete_point: write(call2(host.deletePoint)),
    delete_range: write(call5(host.deleteRange)),
    clear: write(call1(host.clear)),
    log: (level, text) => {
      number(level);
      string(text);
      if (host.mayLog()) host.log(level, cut(text, textLengthMax), callerStack());
      return 0;
    },
    timer_start: named(host.timerStart),
    timer_end: (id) => host.timerEnd(number(id), callerStack()),
    identity: () => host.identity(),
    // The number of a call comes last and can be left out: it is then the one that runs.
    jwt: (call = 0) => host.jwt(number(call)),
    seed: (call = 0) => host.seed(number(call)),
    env_version: () => host.envVersion(),
    env: () => host.env(),
    violation: () => host.violation(),
    begin: (kind, call = 0) => host.begin(number(kind), number(call)),
    end: call1(host.end),
    reducer_id: named(host.reducerId),
    call_reducer: (id, length, call = 0) =>
      host.callReducer(number(id), number(length), number(call)),
    fetch: (head, body, call = 0) => host.fetch(number(head), number(body), number(call)),
    fetch_start: (head, body, redirect, call = 0) =>
      host.fetchStart(number(head), number(body), number(redirect), number(call)),
    sleep: (micros, call = 0) => host.sleep(bigint(micros), number(call)),
    cancel: call1(host.cancel),
    result_bytes: () => host.resultBytes(),
    failure: () => host.failure(),
  });
}
