import type { ReactNode } from 'react';
import type { ServiceError } from '../service/http.ts';
import { identityOfToken } from '../service/identities.ts';
import type { Loaded } from '../service/load.ts';
import { Button } from './button.tsx';
import { classes } from './classes.ts';
import { Icon, type IconName } from './icon.tsx';
import styles from './state.module.css';

interface EmptyProps {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

/** There is nothing: says what would be here, and how it comes. */
export function Empty({ icon = 'info', title, children, actions }: EmptyProps) {
  return (
    <div className={styles.state}>
      <span className={styles.icon}>
        <Icon name={icon} size={20} />
      </span>
      <p className={styles.title}>{title}</p>
      {children !== undefined && <div className={styles.text}>{children}</div>}
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </div>
  );
}

/** Grey lines in the place of what is read. */
export function Loading({ label = 'Loading', lines = 6 }: { label?: string; lines?: number }) {
  return (
    <div className={styles.loading} role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, line) => `line ${line}`).map((line) => (
        <div key={line} className={styles.bar} />
      ))}
    </div>
  );
}

interface FailureProps {
  readonly error: ServiceError;
  readonly onRetry?: (() => void) | undefined;
}

/** What went wrong, in the words of the service, and what one can do. */
export function Failure({ error, onRetry }: FailureProps) {
  const again = onRetry !== undefined && (
    <Button icon="refresh" onClick={onRetry}>
      Try again
    </Button>
  );
  const title = error.isForbidden
    ? 'You may not see this'
    : error.status === 404
      ? 'Not found'
      : error.status === 0
        ? 'The service does not answer'
        : 'This did not work';
  return (
    <div role="alert">
      <Empty icon={error.isForbidden ? 'lock' : 'warning'} title={title} actions={again}>
        <p>{spokenTo(error.message)}</p>
        {error.hint !== undefined && <p className={styles.hint}>{error.hint}</p>}
        {operatorText.test(error.message) && <HowOperator />}
      </Empty>
    </div>
  );
}

/** The service names the caller by 64 digits; who reads this is the caller. */
function spokenTo(message: string): string {
  return message.replace(/^(Caller )?(0x)?[0-9a-f]{64} is not /i, 'You are not ');
}

const operatorText = / is not an operator of this host$/;

/** What makes an operator, for those whose own service it is. */
function HowOperator() {
  const identity = identityOfToken();
  return (
    <p className={styles.hint}>
      The setting <code>operators</code> names them. If this is your service, add your identity
      there, or start it with <code>reducerdb start --operator {identity ?? '‹identity›'}</code>.
    </p>
  );
}

interface WhenLoadedProps<T> {
  readonly of: Loaded<T>;
  readonly children: (value: T) => ReactNode;
  readonly loading?: ReactNode;
}

/** Shows what was read; before that, that it is read, or why it could not be. */
export function WhenLoaded<T>({ of, children, loading }: WhenLoadedProps<T>) {
  if (of.error !== undefined && (of.value === undefined || of.error.isForbidden)) {
    return <Failure error={of.error} onRetry={of.reload} />;
  }
  if (of.value === undefined) return loading ?? <Loading />;
  return children(of.value);
}

interface NoticeProps {
  readonly kind?: 'info' | 'warn' | 'danger' | 'good';
  readonly children: ReactNode;
  /** Read out when it appears. */
  readonly isAlert?: boolean;
}

/** A remark within a page. */
export function Notice({ kind = 'info', children, isAlert }: NoticeProps) {
  const icon = kind === 'good' ? 'check' : kind === 'info' ? 'info' : 'warning';
  return (
    <div
      className={classes(styles.notice, kind !== 'info' && styles[kind])}
      role={isAlert === true ? 'alert' : undefined}
    >
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

/** Why the service refused something, beside what was asked for; nothing if it did not. */
export function Refusal({ error }: { readonly error: ServiceError | null }) {
  if (error === null) return null;
  return (
    <Notice kind="danger" isAlert>
      {error.message} {error.hint}
    </Notice>
  );
}
