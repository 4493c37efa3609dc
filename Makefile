# SPDX-License-Identifier: GPL-2.0-only
#
# make            build/mmtrend and build/mmtrendd
# make check      every test, by prove (installs nothing)
# make demo       the whole path on this host; make demo-stop ends it
# make lint       both compilers' warnings, analyzers, shell, tree rules
# make bench      what a run, and history, cost the server
# make fuzz       every fuzzer: its corpus, then FUZZ_SECONDS each
# make lab-check  the lab's own tests, with a real kernel (after ci/deps lab)
# make lab-matrix every patch group x size x architecture, as tables
# make images     the container images, by buildah as root, and a run of them
# make install    PREFIX=/usr/local DESTDIR=
#
# SAN=address,undefined | thread   its own build folder: build-SAN
# STATIC=1 CROSS=aarch64-linux-gnu-   `make agent`: the lab's agent, no push

VERSION	= 0.1.0

comma	= ,
BUILD	?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(STATIC),-static)$(if $(CROSS),-$(CROSS:-=))
PREFIX	?= /usr/local
# One short line per file; V=1 shows the commands.
Q	= $(if $(V),,@)
say	= $(if $(V),,@echo "  $(1)	$(patsubst $(CURDIR)/%,%,$@)";)

ifneq ($(CROSS),)
CC	= $(CROSS)gcc
PKG_CONFIG = PKG_CONFIG_LIBDIR=/usr/lib/$(CROSS:-=)/pkgconfig:/usr/share/pkgconfig pkg-config
endif
PKG_CONFIG ?= pkg-config

WARN	= -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
	  -Wmissing-prototypes -Wvla -Wwrite-strings -Wpointer-arith \
	  -Wformat=2 -Wundef -Wconversion $(if $(CI),-Werror)
CFLAGS	?= -O2 -g
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -DMMTREND_VERSION='"$(VERSION)"' \
	  $(WARN) $(CFLAGS) -fno-omit-frame-pointer -MMD -MP -I. \
	  $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all) \
	  $(if $(STATIC),-DMMTREND_NO_PUSH) $(EXTRA_CFLAGS)
ALL_LDFLAGS = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN)) $(if $(STATIC),-static)

# Named one by one, so that what is missing can be named.
AGENT_MODS  = jansson libcrypto zlib $(if $(STATIC),,libcurl)
SERVER_MODS = jansson libmicrohttpd sqlite3 zlib libcrypto
modflags = $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --cflags --libs $(1))
define need
	@for m in $(1); do $(PKG_CONFIG) --exists $$m || { \
	  echo "make: pkg-config finds no module '$$m' (Debian: ci/deps installs it)" >&2; \
	  exit 1; }; done
endef

COMMON_C = $(wildcard common/*.c)
AGENT_C	 = $(filter-out $(if $(STATIC),agent/push.c),$(wildcard agent/*.c agent/bench/*.c))
SERVER_C = $(wildcard server/*.c server/route/*.c)
obj	 = $(patsubst %.c,$(BUILD)/%.o,$(1))
COMMON_O = $(call obj,$(COMMON_C))
AGENT_O	 = $(call obj,$(AGENT_C))
SERVER_O = $(call obj,$(SERVER_C))
# The same agent over the fake kernel of the tests: only the seam differs.
FAKE_O	 = $(filter-out $(BUILD)/agent/dev.o,$(AGENT_O)) $(BUILD)/tests/agent/fakedev.o

all: agent server
agent: $(BUILD)/mmtrend
server: $(BUILD)/mmtrendd

$(BUILD)/mmtrend: $(COMMON_O) $(AGENT_O)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call modflags,$(AGENT_MODS)) -lm
$(BUILD)/mmtrend-fake: $(COMMON_O) $(FAKE_O)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call modflags,$(AGENT_MODS)) -lm
$(BUILD)/mmtrendd: $(COMMON_O) $(SERVER_O)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call modflags,$(SERVER_MODS)) -lm -lpthread

$(AGENT_O): | $(BUILD)/.agent-mods
$(SERVER_O): | $(BUILD)/.server-mods
$(BUILD)/.agent-mods:
	$(call need,$(AGENT_MODS))
	@mkdir -p $(@D) && touch $@
$(BUILD)/.server-mods:
	$(call need,$(SERVER_MODS))
	@mkdir -p $(@D) && touch $@

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Embedded files: plain and gzipped. asset.c names them with .incbin.
ASSETS	= $(wildcard web/*.html web/*.js web/*.css web/*.svg web/vendor/*.js web/vendor/*.css schema/*.json schema/*.sql)
ASSETS_GZ = $(patsubst %,$(BUILD)/%.gz,$(ASSETS))
$(BUILD)/%.gz: %
	@mkdir -p $(@D)
	$(Q)gzip -9nc $< > $@
$(BUILD)/server/asset.o: $(ASSETS) $(ASSETS_GZ)
$(BUILD)/server/asset.o: ALL_CFLAGS += -DASSET_GZ='"$(BUILD)/"'

# --- tests ---------------------------------------------------------------
UNIT	= $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c))
# tests/lab builds and boots a kernel: lab-check runs it.
TESTS	?= $(UNIT) $(filter-out tests/lab/%,$(wildcard tests/*/*.t))
NOMAIN	= $(filter-out $(BUILD)/%/main.o,$(1))

$(BUILD)/tests/unit/common_%: $(BUILD)/tests/unit/common_%.o $(COMMON_O)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call modflags,jansson) -lm
$(BUILD)/tests/unit/agent_%: $(BUILD)/tests/unit/agent_%.o $(COMMON_O) $(FAKE_O)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $(call NOMAIN,$^) $(call modflags,$(AGENT_MODS)) -lm
$(BUILD)/tests/unit/server_%: $(BUILD)/tests/unit/server_%.o $(COMMON_O) $(SERVER_O)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $(call NOMAIN,$^) $(call modflags,$(SERVER_MODS)) -lm -lpthread

# Helpers of the shell tests and the bench: one C file each.
HELPERS	= $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(COMMON_O)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call modflags,jansson libcurl) -lm -lpthread

check: all $(BUILD)/mmtrend-fake $(UNIT) $(HELPERS)
	BUILD=$(abspath $(BUILD)) SRC=$(CURDIR) prove $(PROVE_FLAGS) -e '' $(TESTS)

demo: all
	BUILD=$(abspath $(BUILD)) ci/demo run
demo-stop:
	BUILD=$(abspath $(BUILD)) ci/demo stop
lint:
	ci/lint
images:
	docker/build
	BUILD=$(abspath $(BUILD)) SRC=$(CURDIR) IMAGES=1 unshare -n prove $(PROVE_FLAGS) -e '' tests/docker/images.t
LAB_TESTS ?= $(wildcard tests/lab/*.t)
lab-check: agent
	BUILD=$(abspath $(BUILD)) SRC=$(CURDIR) prove -v -e '' $(LAB_TESTS)
lab-matrix:
	ci/lab/matrix
bench: all $(HELPERS)
	BUILD=$(abspath $(BUILD)) tests/bench/run
	BUILD=$(abspath $(BUILD)) tests/bench/history

# --- fuzzers: clang, a folder of their own ---------------------------------
FUZZ_SECONDS ?= 20
FUZZERS	= $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/*.c))
$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(COMMON_O) $(SERVER_O)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $(call NOMAIN,$^) $(call modflags,$(SERVER_MODS)) -lm -lpthread
fuzzers: $(FUZZERS)
fuzz:
	$(MAKE) BUILD=build-fuzz CC=clang SAN=address,undefined EXTRA_CFLAGS=-fsanitize=fuzzer-no-link fuzzers
	tests/fuzz/run build-fuzz $(FUZZ_SECONDS)

install: all
	install -D -m 755 $(BUILD)/mmtrend $(DESTDIR)$(PREFIX)/bin/mmtrend
	install -D -m 755 $(BUILD)/mmtrendd $(DESTDIR)$(PREFIX)/sbin/mmtrendd
	install -D -m 644 agent/mmtrend.1 $(DESTDIR)$(PREFIX)/share/man/man1/mmtrend.1
	install -D -m 644 server/mmtrendd.8 $(DESTDIR)$(PREFIX)/share/man/man8/mmtrendd.8

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all agent server check demo demo-stop lint lab-check lab-matrix images bench fuzz fuzzers install clean
.SECONDARY:
