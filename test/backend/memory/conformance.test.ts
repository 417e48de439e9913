import { describe, it } from 'vitest';
import { openMemory } from 'wafstate';
import { conformance } from 'wafstate/testing';

conformance(
  { describe, it },
  { name: 'memory', features: openMemory({ cleanupInterval: 0 }).features, open: async () => openMemory() },
);
