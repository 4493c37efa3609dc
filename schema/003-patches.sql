-- SPDX-License-Identifier: GPL-2.0-only
--
-- A kernel's groups of patches on top of its commit or release, in order:
-- "gup-batch, mincore-batch". NULL: none, or its first run came before this file.
ALTER TABLE kernel ADD COLUMN patches TEXT;
