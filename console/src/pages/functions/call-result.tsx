import type { ReactNode } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Changes } from '../../parts/changes.tsx';
import { Copy } from '../../parts/copy.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { microsText } from '../../parts/numbers.ts';
import { Notice } from '../../parts/state.tsx';
import { Time } from '../../parts/time.tsx';
import { Trace } from '../../parts/trace.tsx';
import type { ModuleFunction } from '../../service/functions.ts';
import type { Json } from '../../service/json.ts';
import type { Preview } from '../../service/previews.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress } from '../../shell/router.tsx';
import { useOpenSource } from '../../shell/source-dialog.tsx';
import styles from './functions.module.css';
import type { CallOutcome, Calls } from './use-calls.ts';

interface CallResultProps {
  readonly of: ModuleFunction;
  readonly calls: Calls;
}

/** What came of the last call or preview of a function. */
export function CallResult({ of, calls }: CallResultProps) {
  const { outcome } = calls;
  if (outcome === null) return null;
  switch (outcome.kind) {
    case 'previewed':
      return <Previewed outcome={outcome} calls={calls} />;
    case 'failed':
      return <Failed outcome={outcome} name={of.name} />;
    case 'applied':
      return (
        <Result title="Applied" badge={<Badge kind="good">committed</Badge>}>
          {outcome.offset !== null && <p>It is commit {outcome.offset}.</p>}
          <Returned value={outcome.value} />
        </Result>
      );
    default: {
      const { value, micros } = outcome.answer;
      return (
        <Result
          title="Called"
          badge={<Badge kind="good">{of.kind === 'reducer' ? 'committed' : 'done'}</Badge>}
          note={micros === null ? '' : microsText(micros)}
        >
          {value === undefined && <p className={styles.quiet}>It returned nothing.</p>}
          <Returned value={value} />
        </Result>
      );
    }
  }
}

interface ResultProps {
  readonly title: string;
  readonly badge: ReactNode;
  readonly note?: string;
  readonly children: ReactNode;
}

function Result({ title, badge, note, children }: ResultProps) {
  return (
    <section className={styles.result} aria-label={title} aria-live="polite">
      <header className={styles.title}>
        <h3>{title}</h3>
        {badge}
        {note !== undefined && <span className={styles.quiet}>{note}</span>}
      </header>
      {children}
    </section>
  );
}

function Returned({ value }: { readonly value: Json | undefined }) {
  if (value === undefined || value === null) return null;
  const text = JSON.stringify(value, null, 2);
  return (
    <div className={styles.returned}>
      <header>
        <h3>Returned</h3>
        <Copy text={text} what="value" />
      </header>
      <pre>{text}</pre>
    </div>
  );
}

function Failed(props: { readonly outcome: CallOutcome & { kind: 'failed' }; name: string }) {
  const { outcome, name } = props;
  const { database } = useDatabase();
  const { error, line } = outcome;
  const open = useOpenSource();
  return (
    <Result title="Failed" badge={<Badge kind="danger">nothing was changed</Badge>}>
      <Notice kind="danger" isAlert>
        <p>{line?.message ?? error.message}</p>
        {error.hint !== undefined && line === undefined && (
          <p className={styles.quiet}>{error.hint}</p>
        )}
        {line !== undefined && <Trace frames={line.trace} onOpen={open} />}
      </Notice>
      {line !== undefined && (
        <Link to={pageAddress(database, 'logs', { f: name })}>Its lines in the log</Link>
      )}
    </Result>
  );
}

interface PreviewedProps {
  readonly outcome: CallOutcome & { kind: 'previewed' };
  readonly calls: Calls;
}

function Previewed({ outcome, calls }: PreviewedProps) {
  const { preview, as, different } = outcome;
  const { id } = preview;
  const badge = preview.isCommit ? (
    <Badge kind="accent">would commit</Badge>
  ) : (
    <Badge kind="danger">would be refused</Badge>
  );
  return (
    <Result title="Preview" badge={badge} note="Nothing has happened.">
      {different !== undefined && (
        <Notice kind="warn" isAlert>
          {different}. This is what it would come to now.
        </Notice>
      )}
      {as !== '' && (
        <p className={styles.quiet}>
          As <IdentityText hex={as} />: this can be looked at, and not applied.
        </p>
      )}
      {preview.error !== null && (
        <Notice kind="danger">
          <p>{preview.error}</p>
          {preview.hint !== null && <p className={styles.quiet}>{preview.hint}</p>}
        </Notice>
      )}
      {preview.isCommit && <Changes of={preview} />}
      <Returned value={preview.value} />
      <PreviewedLog of={preview} />
      <div className={styles.buttons}>
        {id !== null && preview.isCommit && (
          <Button
            kind="accent"
            icon="check"
            isBusy={calls.busy === 'apply'}
            onClick={() => calls.apply(id)}
          >
            Apply exactly
          </Button>
        )}
        <Button onClick={() => calls.drop(id)}>Discard</Button>
        {id !== null && preview.expiresAt !== null && (
          <span className={styles.quiet}>
            It can be applied until <Time time={preview.expiresAt} />.
          </span>
        )}
      </div>
    </Result>
  );
}

function PreviewedLog({ of }: { readonly of: Preview }) {
  if (of.log.length === 0) return null;
  return (
    <div className={styles.returned}>
      <header>
        <h3>Would log</h3>
      </header>
      <ul className={styles.log}>
        {of.log.map(({ level, message }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a preview never move
          <li key={at}>
            <span className={styles.quiet}>{level.toLowerCase()}</span> {message}
          </li>
        ))}
      </ul>
    </div>
  );
}
