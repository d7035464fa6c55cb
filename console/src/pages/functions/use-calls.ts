import { useState } from 'react';
import { complain, say } from '../../parts/toast.tsx';
import { type CallAnswer, callFunction } from '../../service/calls.ts';
import type { ServiceError } from '../../service/http.ts';
import type { Json } from '../../service/json.ts';
import { serviceErrorOf } from '../../service/load.ts';
import { type LogLine, readLog } from '../../service/logs.ts';
import { applyPreview, createPreview, dropPreview, type Preview } from '../../service/previews.ts';

/** What came of the last call or preview. */
export type CallOutcome =
  | { readonly kind: 'called'; readonly answer: CallAnswer }
  | { readonly kind: 'applied'; readonly offset: number | null; readonly value: Json | undefined }
  | {
      readonly kind: 'failed';
      readonly error: ServiceError;
      /** The line of the log that has its trace, where the caller may see it. */
      readonly line: LogLine | undefined;
    }
  | {
      readonly kind: 'previewed';
      readonly preview: Preview;
      readonly as: string;
      /** Why an earlier one was not applied. */
      readonly different?: string;
    };

export interface Calls {
  readonly busy: 'call' | 'preview' | 'apply' | null;
  readonly outcome: CallOutcome | null;
  readonly call: (args: Json) => void;
  readonly preview: (args: Json, as: string) => void;
  readonly apply: (id: string) => void;
  readonly drop: (id: string | null) => void;
}

/** Calls and previews a function, one at a time. */
export function useCalls(database: string, name: string): Calls {
  const [busy, setBusy] = useState<Calls['busy']>(null);
  const [outcome, setOutcome] = useState<CallOutcome | null>(null);
  const during = (what: NonNullable<Calls['busy']>, work: () => Promise<CallOutcome | null>) => {
    setBusy(what);
    work()
      .catch((error: unknown) => failed(database, name, serviceErrorOf(error)))
      .then(setOutcome)
      .finally(() => setBusy(null));
  };
  return {
    busy,
    outcome,
    call: (args) =>
      during('call', async () => {
        return { kind: 'called', answer: await callFunction(database, name, args) };
      }),
    preview: (args, as) =>
      during('preview', async () => {
        const ask = { reducer: name, args, ...(as === '' ? {} : { as }) };
        return { kind: 'previewed', preview: await createPreview(database, ask), as };
      }),
    apply: (id) =>
      during('apply', async () => {
        const applied = await applyPreview(database, id);
        if (applied.kind === 'applied') {
          say('Applied, exactly as previewed');
          return applied;
        }
        const { preview, error } = applied;
        return { kind: 'previewed', preview, as: '', different: error };
      }),
    drop: (id) => {
      setOutcome(null);
      if (id === null) return;
      // One that is gone already is what was wanted.
      dropPreview(database, id).catch((error: unknown) => {
        if (serviceErrorOf(error).status !== 404) complain('The preview was not dropped', error);
      });
    },
  };
}

const linesLookedAt = 100;
/** The status of calls that the module failed, and of procedures that did. */
const failedStatuses = [530, 500];

async function failed(database: string, name: string, error: ServiceError): Promise<CallOutcome> {
  const isCrash = /fatal error|uncaught|failed/i.test(error.message);
  if (!failedStatuses.includes(error.status) || !isCrash) {
    return { kind: 'failed', error, line: undefined };
  }
  // Who may not read the log sees no trace.
  const lines = await readLog(database, linesLookedAt).catch(() => []);
  const line = lines.findLast((each) => each.level === 'panic' && each.function === name);
  return { kind: 'failed', error, line };
}
