import { useEffect, useRef } from 'react';
import { serviceErrorOf } from '../service/load.ts';
import { Store, useStore } from '../service/store.ts';
import { Button } from './button.tsx';
import { classes } from './classes.ts';
import { Icon } from './icon.tsx';
import styles from './toast.module.css';

interface Toast {
  readonly id: number;
  readonly kind: 'good' | 'error';
  readonly title: string;
  readonly detail: string | undefined;
}

const toasts = new Store<readonly Toast[]>([]);
const shownMax = 4;
const shownMillis = 6_000;
let lastId = 0;

/** Says for a few seconds that something worked. */
export function say(title: string, detail?: string): void {
  show({ kind: 'good', title, detail });
}

/** Says what did not work, until somebody closes it. */
export function complain(title: string, error: unknown): void {
  const { message, hint } = serviceErrorOf(error);
  show({ kind: 'error', title, detail: hint === undefined ? message : `${message} ${hint}` });
}

function show(toast: Omit<Toast, 'id'>): void {
  lastId += 1;
  const id = lastId;
  toasts.set([...toasts.get(), { ...toast, id }].slice(-shownMax));
  if (toast.kind === 'good') setTimeout(() => drop(id), shownMillis);
}

function drop(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

/** Where they appear: once, in the frame; in the top layer, so above dialogs. */
export function Toasts() {
  const shown = useStore(toasts);
  const region = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = region.current;
    if (element === null) return;
    if (element.matches(':popover-open')) element.hidePopover();
    if (shown.length > 0) element.showPopover();
  }, [shown]);
  return (
    <section ref={region} popover="manual" className={styles.region} aria-label="Messages">
      {shown.map(({ id, kind, title, detail }) => (
        <div
          key={id}
          className={classes(styles.toast, kind === 'error' && styles.error)}
          role={kind === 'error' ? 'alert' : 'status'}
        >
          <Icon name={kind === 'error' ? 'warning' : 'check'} />
          <div>
            <p>{title}</p>
            {detail !== undefined && <p className={styles.detail}>{detail}</p>}
          </div>
          <Button
            kind="plain"
            size="small"
            icon="close"
            aria-label="Close this message"
            onClick={() => drop(id)}
          />
        </div>
      ))}
    </section>
  );
}
