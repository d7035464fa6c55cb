/**
 * The guest's `Promise`. The engine's own promises report an unhandled rejection to the process,
 * which ends it, and run their jobs whenever the host happens to drain a queue. These keep their
 * jobs in a list that the bridge runs at the end of the call, outside of the transaction, and
 * report to the module's log. `async` functions are compiled to generators over them (see
 * `bundle/link.ts`).
 *
 * `drain(report)` runs all jobs, then calls `report(reason)` for each rejection that nobody
 * handled. `watch` follows a promise by its inside: whatever a program puts in place of `then`,
 * here it is not called.
 */
import './hardening.js';

let jobs = [];
let reasonOf;
/** Whether a value is a promise of this file, or of a class that extends it. */
export let isPromise;
/** Calls one of the two functions, once, in a job. */
export let watch;
const unhandled = new Set();
const isObject = (value) =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

export const GuestPromise = class Promise {
  #state = 'pending';
  #value = undefined;
  #reactions = [];
  #isHandled = false;

  static {
    reasonOf = (promise) => promise.#value;
    isPromise = (value) => isObject(value) && #state in value;
    watch = (promise, onFulfilled, onRejected) => {
      const nothing = () => {};
      promise.#react({ onFulfilled, onRejected, resolve: nothing, reject: nothing });
    };
  }

  constructor(executor) {
    if (typeof executor !== 'function') {
      throw new TypeError('Promise resolver ' + typeof executor + ' is not a function');
    }
    const { resolve, reject } = Promise.#resolversOf(this);
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  /** @param {Promise} promise */
  static #resolversOf(promise) {
    let isResolved = false;
    const resolve = (value) => {
      if (isResolved) return;
      isResolved = true;
      promise.#resolve(value);
    };
    const reject = (reason) => {
      if (isResolved) return;
      isResolved = true;
      promise.#settle('rejected', reason);
    };
    return { resolve, reject };
  }

  #resolve(value) {
    if (value === this) {
      this.#settle('rejected', new TypeError('Chaining cycle detected for promise #<Promise>'));
      return;
    }
    let then;
    if (isObject(value)) {
      try {
        then = value.then;
      } catch (error) {
        this.#settle('rejected', error);
        return;
      }
    }
    if (typeof then !== 'function') {
      this.#settle('fulfilled', value);
      return;
    }
    jobs.push(() => {
      const { resolve, reject } = Promise.#resolversOf(this);
      try {
        Reflect.apply(then, value, [resolve, reject]);
      } catch (error) {
        reject(error);
      }
    });
  }

  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    const reactions = this.#reactions;
    this.#reactions = [];
    if (state === 'rejected' && !this.#isHandled) unhandled.add(this);
    for (const reaction of reactions) this.#schedule(reaction);
  }

  #schedule({ onFulfilled, onRejected, resolve, reject }) {
    jobs.push(() => {
      const handler = this.#state === 'fulfilled' ? onFulfilled : onRejected;
      if (typeof handler !== 'function') {
        (this.#state === 'fulfilled' ? resolve : reject)(this.#value);
        return;
      }
      let result;
      try {
        result = handler(this.#value);
      } catch (error) {
        reject(error);
        return;
      }
      resolve(result);
    });
  }

  then(onFulfilled, onRejected) {
    if (!(#state in this)) throw new TypeError('then called on an object that is not a promise');
    const Species = this.constructor?.[Symbol.species] ?? Promise;
    const { promise, resolve, reject } = Promise.#capabilityOf(Species);
    this.#react({ onFulfilled, onRejected, resolve, reject });
    return promise;
  }

  #react(reaction) {
    this.#isHandled = true;
    unhandled.delete(this);
    if (this.#state === 'pending') this.#reactions.push(reaction);
    else this.#schedule(reaction);
  }

  catch(onRejected) {
    return this.then(undefined, onRejected);
  }

  finally(onFinally) {
    if (typeof onFinally !== 'function') return this.then(onFinally, onFinally);
    return this.then(
      (value) => Promise.resolve(onFinally()).then(() => value),
      (reason) =>
        Promise.resolve(onFinally()).then(() => {
          throw reason;
        }),
    );
  }

  static #capabilityOf(Species) {
    let resolve;
    let reject;
    const promise = new Species((resolveIt, rejectIt) => {
      resolve = resolveIt;
      reject = rejectIt;
    });
    if (typeof resolve !== 'function' || typeof reject !== 'function') {
      throw new TypeError('Promise resolve or reject function is not callable');
    }
    return { promise, resolve, reject };
  }

  static get [Symbol.species]() {
    return this;
  }

  static withResolvers() {
    return Promise.#capabilityOf(this);
  }

  static try(callback, ...args) {
    return new this((resolve) => resolve(callback(...args)));
  }

  static resolve(value) {
    if (isObject(value) && #state in value && value.constructor === this) return value;
    return new this((resolve) => resolve(value));
  }

  static reject(reason) {
    return new this((_, reject) => reject(reason));
  }

  static all(values) {
    return this.#gather(values, (item, index, results, done, reject) =>
      item.then((value) => {
        results[index] = value;
        done();
      }, reject),
    );
  }

  static allSettled(values) {
    return this.#gather(values, (item, index, results, done) =>
      item.then(
        (value) => {
          results[index] = { status: 'fulfilled', value };
          done();
        },
        (reason) => {
          results[index] = { status: 'rejected', reason };
          done();
        },
      ),
    );
  }

  static #gather(values, watch) {
    return new this((resolve, reject) => {
      const results = [];
      let pending = 1;
      const done = () => {
        pending -= 1;
        if (pending === 0) resolve(results);
      };
      let index = 0;
      for (const value of values) {
        results.push(undefined);
        pending += 1;
        watch(this.resolve(value), index, results, done, reject);
        index += 1;
      }
      done();
    });
  }

  static any(values) {
    return new this((resolve, reject) => {
      const errors = [];
      let pending = 1;
      const done = () => {
        pending -= 1;
        if (pending === 0) reject(new AggregateError(errors, 'All promises were rejected'));
      };
      let count = 0;
      for (const value of values) {
        const index = count;
        count += 1;
        pending += 1;
        this.resolve(value).then(resolve, (reason) => {
          errors[index] = reason;
          done();
        });
      }
      done();
    });
  }

  static race(values) {
    return new this((resolve, reject) => {
      for (const value of values) this.resolve(value).then(resolve, reject);
    });
  }
};
Object.defineProperty(GuestPromise.prototype, Symbol.toStringTag, {
  value: 'Promise',
  configurable: true,
});
freeze(GuestPromise.prototype);

// The calls of a lane share it: a program that replaced `then` would break all of them. As with
// the frozen intrinsics of the engine, what inherits from it can have properties of its own.
function freeze(prototype) {
  for (const name of ['constructor', 'then', 'catch', 'finally']) {
    const inherited = prototype[name];
    Object.defineProperty(prototype, name, {
      get: () => inherited,
      set(value) {
        if (this === prototype) {
          throw new TypeError("Cannot assign to read only property '" + name + "' of a promise");
        }
        const own = { value, writable: true, enumerable: true, configurable: true };
        Object.defineProperty(this, name, own);
      },
    });
  }
  harden(GuestPromise);
}

export const drain = (report) => {
  while (jobs.length > 0) {
    const batch = jobs;
    jobs = [];
    for (const job of batch) {
      try {
        job();
      } catch (error) {
        report(error);
      }
    }
  }
  if (unhandled.size === 0) return;
  const reasons = [...unhandled].map(reasonOf);
  unhandled.clear();
  for (const reason of reasons) report(reason);
};
