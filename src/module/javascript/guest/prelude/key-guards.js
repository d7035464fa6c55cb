/** Keys of objects: each index of a list or text becomes one. */
import { ownKeys, replace } from './intrinsics.js';
import { fewKeys } from './measures.js';

const { assign, entries, getOwnPropertyDescriptors, getOwnPropertyNames, keys, values } = Object;

replace(Object, {
  assign(target, source, ...more) {
    if (more.length === 0) return assign(target, fewKeys(source));
    for (let index = 0; index < more.length; index += 1) fewKeys(more[index]);
    return assign(target, fewKeys(source), ...more);
  },
  entries(object) {
    return entries(fewKeys(object));
  },
  getOwnPropertyDescriptors(object) {
    return getOwnPropertyDescriptors(fewKeys(object));
  },
  getOwnPropertyNames(object) {
    return getOwnPropertyNames(fewKeys(object));
  },
  keys(object) {
    return keys(fewKeys(object));
  },
  values(object) {
    return values(fewKeys(object));
  },
});
replace(Reflect, {
  ownKeys(object) {
    return ownKeys(fewKeys(object));
  },
});
