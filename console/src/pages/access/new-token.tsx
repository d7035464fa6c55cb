import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Dialog, DialogForm } from '../../parts/dialog.tsx';
import { Field, Input, Select, Switch } from '../../parts/field.tsx';
import { Notice } from '../../parts/state.tsx';
import type { ServiceError } from '../../service/http.ts';
import { serviceErrorOf } from '../../service/load.ts';
import { createToken, type NewToken, type TokenLimits } from '../../service/tokens.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import styles from './access.module.css';
import { Choices } from './choices.tsx';

const lifetimes = [
  ['1 hour', 3_600],
  ['1 day', 86_400],
  ['30 days', 2_592_000],
  ['does not end', null],
] as const;

/** Features of the MCP server that a token has in no other way, in words. */
const features = ['preview', 'logs', 'source', 'export', 'write-by-preview'] as const;

interface NewTokenDialogProps {
  readonly database: string;
  readonly onClose: () => void;
  readonly onMade: (token: NewToken) => void;
}

/** What is chosen so far; `null` in a list: what strangers may. */
interface Draft {
  readonly tables: readonly string[] | null;
  readonly reducers: readonly string[] | null;
  readonly features: readonly string[] | null;
  readonly readOnly: boolean;
  readonly sqlWrites: boolean;
}

const firstDraft: Draft = {
  tables: null,
  reducers: null,
  features: null,
  readOnly: true,
  sqlWrites: false,
};

/** Chooses what a token may do, and for how long. */
export function NewTokenDialog({ database, onClose, onMade }: NewTokenDialogProps) {
  const [draft, setDraft] = useState(firstDraft);
  const [rows, setRows] = useState('');
  const [lifetime, setLifetime] = useState<string>(lifetimes[1][0]);
  const [error, setError] = useState<ServiceError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const rowsFault =
    rows !== '' && !/^[1-9]\d{0,8}$/.test(rows) ? 'A whole number above zero.' : undefined;
  const make = async () => {
    if (rowsFault !== undefined) return;
    setBusy(true);
    setError(null);
    const seconds = lifetimes.find(([text]) => text === lifetime)?.[1] ?? null;
    const rowsMax = rows === '' ? {} : { rowsMax: Number(rows) };
    try {
      onMade(await createToken(database, { ...limitsOf(draft), ...rowsMax, seconds }));
    } catch (problem) {
      setError(serviceErrorOf(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog title="New limited token" form="wide" onClose={onClose}>
      <DialogForm action="Make the token" {...{ isBusy, error, onClose }} onSubmit={make}>
        <LimitFields draft={draft} onChange={(more) => setDraft({ ...draft, ...more })} />
        <div className={styles.pair}>
          <Field label="Most rows of an answer" note="none: as the service" error={rowsFault}>
            {(control) => (
              <Input
                {...control}
                isData
                inputMode="numeric"
                value={rows}
                onChange={(event) => setRows(event.target.value)}
              />
            )}
          </Field>
          <Field label="Ends after">
            {(control) => (
              <Select
                {...control}
                value={lifetime}
                onChange={(event) => setLifetime(event.target.value)}
              >
                {lifetimes.map(([text]) => (
                  <option key={text}>{text}</option>
                ))}
              </Select>
            )}
          </Field>
        </div>
      </DialogForm>
    </Dialog>
  );
}

function limitsOf({ tables, reducers, features: words, readOnly, sqlWrites }: Draft): TokenLimits {
  return {
    readOnly,
    sqlWrites: !readOnly && sqlWrites,
    ...(tables === null ? {} : { tables }),
    ...(reducers === null || readOnly ? {} : { reducers }),
    ...(words === null ? {} : { features: words }),
  };
}

interface LimitFieldsProps {
  readonly draft: Draft;
  readonly onChange: (draft: Partial<Draft>) => void;
}

function LimitFields({ draft, onChange }: LimitFieldsProps) {
  const { schema } = useDatabase();
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  const callable = schema.value?.functions.filter(({ kind }) => kind !== 'lifecycle') ?? [];
  return (
    <>
      <Choices
        title="Tables"
        standard="those that everyone reads"
        all={names(schema.value?.tables ?? [])}
        chosen={draft.tables}
        onChange={(tables) => onChange({ tables })}
      />
      <Switch
        label="Reads only, and calls nothing"
        isOn={draft.readOnly}
        onChange={(readOnly) => onChange({ readOnly })}
      />
      {!draft.readOnly && (
        <>
          <Choices
            title="Reducers"
            standard="those that everyone calls"
            all={names(callable)}
            chosen={draft.reducers}
            onChange={(reducers) => onChange({ reducers })}
          />
          <Switch
            label="Changes rows of the chosen tables by SQL"
            isOn={draft.sqlWrites}
            onChange={(sqlWrites) => onChange({ sqlWrites })}
          />
        </>
      )}
      <Choices
        title="Features for agents"
        standard="none of these"
        all={features}
        chosen={draft.features}
        onChange={(chosen) => onChange({ features: chosen })}
      />
    </>
  );
}

interface ShownOnceProps {
  readonly database: string;
  readonly made: NewToken;
  readonly onClose: () => void;
}

/** The token, which nobody can look up afterwards, and a configuration that has it. */
export function ShownOnce({ database, made, onClose }: ShownOnceProps) {
  const configuration = configurationOf(database, made.token);
  return (
    <Dialog
      title="Your new token"
      form="wide"
      onClose={onClose}
      foot={
        <Button kind="accent" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className={styles.form}>
        <Notice kind="warn">
          It is shown this once: the service keeps its limits, not the token. It does not belong in
          a repository.
        </Notice>
        <SecretText title="Token" text={made.token} />
        <SecretText title="Configuration for an MCP client" text={configuration} />
      </div>
    </Dialog>
  );
}

function SecretText({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <section aria-label={title}>
      <header className={styles.secretHead}>
        <h3>{title}</h3>
        <Copy text={text} what={title} label="Copy" />
      </header>
      <pre className={styles.secret}>{text}</pre>
    </section>
  );
}

/** As most clients of MCP over HTTP take it. */
function configurationOf(database: string, token: string): string {
  const url = `${location.origin}/v1/database/${encodeURIComponent(database)}/mcp`;
  const headers = { Authorization: `Bearer ${token}` };
  const servers = { [database]: { type: 'http', url, headers } };
  return JSON.stringify({ mcpServers: servers }, null, 2);
}
