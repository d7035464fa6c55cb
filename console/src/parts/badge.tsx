import type { ReactNode } from 'react';
import styles from './badge.module.css';
import { classes } from './classes.ts';

export interface BadgeProps {
  readonly kind?: 'quiet' | 'good' | 'warn' | 'danger' | 'accent';
  readonly hasDot?: boolean;
  readonly title?: string | undefined;
  readonly children: ReactNode;
}

/** A word about a thing: its state, its role, its type. */
export function Badge({ kind = 'quiet', hasDot, title, children }: BadgeProps) {
  return (
    <span className={classes(styles.badge, kind !== 'quiet' && styles[kind])} title={title}>
      {hasDot === true && <span className={styles.dot} />}
      {children}
    </span>
  );
}
