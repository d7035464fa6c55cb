import { useEffect, useMemo, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Field, Input } from '../../parts/field.tsx';
import { Notice } from '../../parts/state.tsx';
import { Fields } from '../../parts/value-field.tsx';
import {
  type Draft,
  type DraftFault,
  draftOfFields,
  emptyFields,
  readFields,
} from '../../parts/value-input.ts';
import type { ModuleFunction } from '../../service/functions.ts';
import { type Json, parseJson } from '../../service/json.ts';
import { useDatabase, useService } from '../../shell/database-context.tsx';
import { setParams, useParam } from '../../shell/router.tsx';
import { CallResult } from './call-result.tsx';
import styles from './functions.module.css';
import { useCalls } from './use-calls.ts';

/** Longer arguments are not kept in the address. */
const argumentsCharactersMax = 2_000;
/** Browsers refuse addresses that change with every key. */
const keepMillis = 400;
const identityPattern = /^(0x)?[\da-f]{64}$/i;

/** A form for the arguments of a reducer or a procedure, and what came of it. */
export function CallForm({ of }: { readonly of: ModuleFunction }) {
  const { database, whyNot } = useDatabase();
  const [draft, setDraft] = useArguments(of);
  const [as, setAs] = useParam('as');
  const [faults, setFaults] = useState<readonly DraftFault[]>([]);
  const calls = useCalls(database, of.name);
  const canPreview = useService()?.features.has('preview') === true && of.kind === 'reducer';
  const asFault = as === '' || identityPattern.test(as) ? undefined : 'Expected 64 hex digits';

  const withArguments = (run: (args: Json) => void) => {
    const read = readFields(of.parameters, draft);
    setFaults(read.faults);
    if (read.value !== undefined && asFault === undefined) run(read.value);
  };
  const preview = () => withArguments((args) => calls.preview(args, as));
  const call = () => withArguments(calls.call);
  const change = (next: Draft) => {
    setDraft(next);
    if (faults.length > 0) setFaults(readFields(of.parameters, next).faults);
  };
  const callOff = as !== '' ? 'As another identity one can only preview.' : whyNotCall(of, whyNot);
  return (
    <form
      className={styles.form}
      aria-label={`Call ${of.name}`}
      onSubmit={(event) => {
        event.preventDefault();
        if (canPreview) preview();
        else if (callOff === false) call();
      }}
    >
      {of.parameters.length === 0 && <p className={styles.quiet}>It takes no arguments.</p>}
      <Fields
        fields={of.parameters}
        draft={draft}
        onChange={change}
        path=""
        faults={faults}
        abouts={of.parameterAbouts}
      />
      {canPreview && <AsField as={as} onChange={setAs} fault={asFault} />}
      {faults.length > 0 && (
        <Notice kind="danger" isAlert>
          Correct the fields that are marked red.
        </Notice>
      )}
      <div className={styles.buttons}>
        {canPreview && (
          <Button
            isSubmit
            kind="accent"
            icon="view"
            off={whyNot('preview')}
            isBusy={calls.busy === 'preview'}
          >
            Preview
          </Button>
        )}
        <Button
          kind={canPreview ? 'normal' : 'accent'}
          icon="play"
          off={callOff}
          isBusy={calls.busy === 'call'}
          onClick={call}
        >
          Call as me
        </Button>
      </div>
      <CallResult of={of} calls={calls} />
    </form>
  );
}

function whyNotCall(of: ModuleFunction, whyNot: (right: string) => string | false): string | false {
  return of.callers.startsWith('the owner') ? whyNot('call_private') : whyNot('call');
}

interface AsFieldProps {
  readonly as: string;
  readonly onChange: (as: string) => void;
  readonly fault: string | undefined;
}

/** As whom the owner looks at what would happen. */
function AsField({ as, onChange, fault }: AsFieldProps) {
  const { rights } = useDatabase();
  const role = rights.value?.role;
  const isOwner = role === undefined || role === 'owner' || role === 'operator';
  if (!isOwner) return null;
  return (
    <Field label="As another identity" note="previewed only" error={fault}>
      {(control) => (
        <Input
          {...control}
          isData
          placeholder="as me"
          value={as}
          onChange={(event) => onChange(event.target.value.trim())}
        />
      )}
    </Field>
  );
}

/** What stands in the form; it is kept in the address as soon as it is right. */
function useArguments(of: ModuleFunction): readonly [Draft, (draft: Draft) => void] {
  const [args] = useParam('args');
  const [draft, setDraft] = useState(() => draftFrom(args, of));
  const { parameters } = of;
  const written = useMemo(() => {
    const { value } = readFields(parameters, draft);
    return value === undefined || parameters.length === 0 ? '' : JSON.stringify(value);
  }, [parameters, draft]);
  useEffect(() => {
    const isKept = written !== '' && written.length <= argumentsCharactersMax;
    const keep = () => setParams({ args: isKept ? written : null });
    const timer = setTimeout(keep, keepMillis);
    return () => clearTimeout(timer);
  }, [written]);
  return [draft, setDraft];
}

function draftFrom(args: string, { parameters }: ModuleFunction): Draft {
  if (args === '') return emptyFields(parameters);
  try {
    return draftOfFields(parameters, parseJson(args));
  } catch {
    return emptyFields(parameters);
  }
}
