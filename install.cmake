# What `cmake --install` puts where. With DVFS_PLAN_BUNDLE every library but the C library's own goes along, so
# that the folder runs wherever glibc is at least as new as where it was built.
include(GNUInstallDirs)

if(DVFS_PLAN_BUNDLE)
  install(TARGETS dvfs-plan dvfs-mixed dvfs-guardian RUNTIME_DEPENDENCIES
          PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so"
          RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
else()
  install(TARGETS dvfs-plan dvfs-mixed RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS dvfs-guardian RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
endif()
if(DVFS_PLAN_BUNDLE)
  set_target_properties(dvfs_plan_readings PROPERTIES INSTALL_RPATH "$ORIGIN/..")
endif()
install(TARGETS dvfs_plan_readings LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dvfs-plan)
install(FILES results/SCHEMA.md results/notebooks/analyse.ipynb DESTINATION ${CMAKE_INSTALL_DATADIR}/dvfs-plan)
install(DIRECTORY experiments/ DESTINATION ${CMAKE_INSTALL_DATADIR}/dvfs-plan/experiments
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.py" PATTERN "*.h" PATTERN "*.json" PATTERN "plan" EXCLUDE)

# What a machine of several users needs: the guardian's units, its group, man pages, completion, an example of a policy.
if(NOT DVFS_PLAN_BUNDLE)
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/dvfs-plan)
  set(guardian ${CMAKE_SOURCE_DIR}/orchestrator/guardian)
  set(made ${CMAKE_BINARY_DIR}/package)
  install(FILES ${guardian}/systemd/dvfs-guardian.socket ${guardian}/systemd/dvfs-guardian@.service ${guardian}/systemd/dvfs-plan-restore.service
          DESTINATION lib/systemd/system COMPONENT machine)
  install(FILES ${guardian}/systemd/dvfs-plan.sysusers DESTINATION lib/sysusers.d RENAME dvfs-plan.conf COMPONENT machine)
  install(FILES ${guardian}/systemd/policy.example ${guardian}/SECURITY.md README.md results/SCHEMA.md DESTINATION ${doc} COMPONENT machine)
  install(DIRECTORY docs DESTINATION ${doc} COMPONENT machine)
  install(FILES packaging/copyright DESTINATION ${doc} COMPONENT machine)
  install(FILES ${made}/changelog.gz ${made}/CHANGELOG.md.gz DESTINATION ${doc} COMPONENT machine OPTIONAL)
  install(FILES ${made}/man/dvfs-plan.1.gz ${made}/man/dvfs-mixed.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT machine OPTIONAL)
  install(FILES ${made}/man/dvfs-plan-experiment.5.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT machine OPTIONAL)
  install(FILES ${made}/man/dvfs-guardian.8.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT machine OPTIONAL)
  install(FILES ${made}/completion/dvfs-plan DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT machine OPTIONAL)
  install(FILES ${made}/completion/_dvfs-plan DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT machine OPTIONAL)
  install(FILES ${made}/completion/dvfs-plan.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT machine OPTIONAL)

  # ./dev package
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME dvfs-plan)
  set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
  set(CPACK_PACKAGE_CONTACT "the dvfs-plan authors <dvfs-plan@localhost>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds the frequency at which a program costs the least energy")
  set(CPACK_PACKAGE_DESCRIPTION "One YAML file names a program and the settings of CPUs and GPUs.
dvfs-plan sets each of them, runs the program, measures its energy,
keeps everything in one SQLite file, puts the machine back as it was
and gives the answer with its interval.")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "nodejs")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/postinst ${CMAKE_SOURCE_DIR}/packaging/prerm ${CMAKE_SOURCE_DIR}/packaging/postrm)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
  include(CPack)
endif()
