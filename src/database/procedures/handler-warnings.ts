import { limits } from '../../limits.ts';
import { forbiddenHeadersOf, type HandlerResponse } from '../../module/handler-response.ts';
import type { DatabaseCore } from '../core.ts';
import type { RunningCall } from './running-call.ts';

/** Tells the author of a module, now and then, of headers that its handlers cannot set. */
export class HandlerWarnings {
  readonly #core: DatabaseCore;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(core: DatabaseCore) {
    this.#core = core;
  }

  note({ name }: Pick<RunningCall, 'name'>, response: HandlerResponse): void {
    const forbidden = forbiddenHeadersOf(response);
    if (forbidden.length === 0) return;
    const now = this.#core.clock.monotonicMillis();
    if (now - this.#lastAt < limits.handlerWarningMillis) return;
    this.#lastAt = now;
    const which = forbidden.map((header) => `\`${header}\``).join(', ');
    const message = `HTTP handlers cannot set the response headers ${which}: left out`;
    this.#core.report({ level: 'warn', message, functionName: name });
  }
}
